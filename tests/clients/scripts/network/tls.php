<?php

/* The tls transport, as client and as server; a child process is the peer. */

declare(strict_types=1);

/** @return resource */
function context()
{
    $directory = getenv('UPSTREAM_DIRECTORY');

    return stream_context_create(['ssl' => [
        'local_cert' => "$directory/cert.pem",
        'local_pk' => "$directory/key.pem",
        'cafile' => "$directory/cert.pem",
        'peer_name' => 'localhost',
    ]]);
}

/** Runs the peer in a child process; returns its pid. */
function beside(callable $side): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        $side();
        posix_kill(getmypid(), SIGKILL);
    }

    return $pid;
}

function ask(string $text, int $pause): string
{
    $server = stream_socket_server('tls://127.0.0.1:0', $error, $message, STREAM_SERVER_BIND | STREAM_SERVER_LISTEN, context());
    $pid = beside(static function () use ($server, $pause): void {
        $peer = stream_socket_accept($server, 20);
        $line = fgets($peer);
        usleep($pause * 1000);
        fwrite($peer, $line);
    });
    $client = stream_socket_client('tls://' . stream_socket_get_name($server, false), $error, $message, 20, STREAM_CLIENT_CONNECT, context());
    fwrite($client, "$text\n");
    $answer = trim(fgets($client));
    pcntl_waitpid($pid, $status);

    return $answer;
}

function serve(string $text, int $pause): string
{
    $server = stream_socket_server('tls://127.0.0.1:0', $error, $message, STREAM_SERVER_BIND | STREAM_SERVER_LISTEN, context());
    $address = stream_socket_get_name($server, false);
    $pid = beside(static function () use ($address, $text, $pause): void {
        $client = stream_socket_client("tls://$address", $error, $message, 20, STREAM_CLIENT_CONNECT, context());
        usleep($pause * 1000);
        fwrite($client, "$text\n");
        fgets($client);
    });
    $peer = stream_socket_accept($server, 20);
    $line = trim(fgets($peer));
    fwrite($peer, "seen\n");
    pcntl_waitpid($pid, $status);

    return $line;
}

return [
    'forks' => true, // the peer
    'seconds' => 3.0, // includes two hundred handshakes on this machine
    'prints' => static function (): void {
        echo ask('asked', 10), ' ', serve('served', 10), ' ', strlen(ask(str_repeat('long', 10_000), 0)), "\n";
        // STARTTLS: a plain connection becomes an encrypted one.
        $server = stream_socket_server('tcp://127.0.0.1:0', context: context());
        $pid = beside(static function () use ($server): void {
            $peer = stream_socket_accept($server, 20);
            fgets($peer);
            fwrite($peer, "go on\n");
            stream_socket_enable_crypto($peer, true, STREAM_CRYPTO_METHOD_TLS_SERVER);
            fwrite($peer, "encrypted\n");
            fgets($peer);
        });
        $client = stream_socket_client('tcp://' . stream_socket_get_name($server, false), context: context());
        fwrite($client, "start\n");
        echo fgets($client);
        var_dump(stream_socket_enable_crypto($client, true, STREAM_CRYPTO_METHOD_TLS_CLIENT));
        echo fgets($client);
        fwrite($client, "end\n");
        pcntl_waitpid($pid, $status);
        // The peer does not use TLS.
        $silent = stream_socket_server('tcp://127.0.0.1:0');
        $context = context();
        var_dump(@stream_socket_client('tls://' . stream_socket_get_name($silent, false), $error, $message, 0.05, STREAM_CLIENT_CONNECT, $context));
    },
    'waits' => static fn (int $n): string => $n % 2 ? ask((string) $n, 3000) : serve((string) $n, 3000),
];
