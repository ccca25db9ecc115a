<?php

/* stream_socket_server() and stream_socket_accept(): requests in pairs, one as the other's server. */

declare(strict_types=1);

function path(int $pair): string
{
    return sys_get_temp_dir() . "/weft-accept-$pair-" . getmypid();
}

return [
    'prints' => static function (): void {
        $server = stream_socket_server('tcp://127.0.0.1:0');
        var_dump(@stream_socket_accept($server, 0.02));
        $client = stream_socket_client('tcp://' . stream_socket_get_name($server, false));
        $peer = stream_socket_accept($server, 5, $name);
        var_dump($name === stream_socket_get_name($client, false));
        fwrite($client, str_repeat('x', 100) . "\nrest");
        fclose($client);
        var_dump(strlen(fgets($peer)), stream_get_contents($peer), feof($peer));
    },
    // The even request comes 0.1 s before its client.
    'waits' => static function (int $n): string {
        $path = path($n >> 1);
        if ($n % 2 === 0) {
            $server = stream_socket_server("unix://$path");
            $peer = stream_socket_accept($server, 20);
            usleep(400_000);
            fwrite($peer, "answer\n");
            $answer = fgets($peer);
            unlink($path);

            return trim($answer);
        }
        while (!$client = @stream_socket_client("unix://$path")) {
            usleep(5_000);
        }
        fwrite($client, ($n - 1) . "\n");
        fgets($client);

        return (string) $n;
    },
];
