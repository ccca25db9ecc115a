<?php

/* stream_socket_client(), fsockopen(), pfsockopen(): lines, time-outs, feof(), shutdown, missing peers. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        [$host, $port] = explode(':', getenv('UPSTREAM_LINE'));
        $stream = fsockopen($host, (int) $port, $error, $message, 5);
        fwrite($stream, "20 first\n0 second\n");
        echo fgets($stream), fgets($stream);
        stream_set_timeout($stream, 0, 30_000);
        var_dump(fgets($stream), stream_get_meta_data($stream)['timed_out'], feof($stream));
        stream_set_timeout($stream, 20);
        fwrite($stream, "20 late\n");
        echo fgets($stream);
        stream_set_blocking($stream, false);
        var_dump(fgets($stream), stream_get_meta_data($stream)['blocked']);
        stream_set_blocking($stream, true);
        stream_socket_shutdown($stream, STREAM_SHUT_WR);
        var_dump(fgets($stream), feof($stream));
        var_dump(@fsockopen('127.0.0.1', 1, $error, $message, 5), $error === SOCKET_ECONNREFUSED, $message);
        var_dump(@stream_socket_client('tcp://no.such.host.invalid:80', $error, $message, 10));
        $full = stream_socket_client('tcp://' . getenv('UPSTREAM_LINE'), $error, $message, 5, STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT);
        fwrite($full, "0 async\n");
        echo fgets($full);
        $kept = pfsockopen($host, (int) $port);
        fwrite($kept, "0 persistent\n");
        echo fgets($kept);
        fclose($kept);
    },
    'waits' => static function (int $n): string {
        [$host, $port] = explode(':', getenv('UPSTREAM_LINE'));
        $stream = $n % 4 < 2 ? fsockopen('localhost', (int) $port) : stream_socket_client("tcp://$host:$port");
        fwrite($stream, "500 $n\n");

        return trim(fgets($stream));
    },
];
