<?php

/* The udp, unix and udg transports. */

declare(strict_types=1);

function path(string $name): string
{
    return sys_get_temp_dir() . "/weft-udg-$name-" . getmypid();
}

return [
    'prints' => static function (): void {
        $udp = stream_socket_client('udp://' . getenv('UPSTREAM_UDP'));
        fwrite($udp, '20 datagram');
        var_dump(fread($udp, 100));
        stream_set_timeout($udp, 0, 20_000);
        var_dump(fread($udp, 100), stream_get_meta_data($udp)['timed_out']);
        $unix = stream_socket_client('unix://' . getenv('UPSTREAM_STREAM'));
        fwrite($unix, "20 line\n");
        var_dump(fgets($unix));
        $path = path(bin2hex(random_bytes(8)));
        $server = stream_socket_server("udg://$path", $error, $message, STREAM_SERVER_BIND);
        $client = stream_socket_client("udg://$path");
        fwrite($client, 'unix datagram');
        var_dump(stream_socket_recvfrom($server, 4, STREAM_PEEK), stream_socket_recvfrom($server, 100));
        unlink($path);
    },
    'waits' => static function (int $n): string {
        if ($n % 4 === 0) {
            $udp = stream_socket_client('udp://' . getenv('UPSTREAM_UDP'));
            fwrite($udp, "500 $n");

            return fread($udp, 100);
        }
        if ($n % 4 === 1) {
            $unix = stream_socket_client('unix://' . getenv('UPSTREAM_STREAM'));
            fwrite($unix, "500 $n\n");

            return trim(fgets($unix));
        }
        $path = path((string) ($n >> 2));
        if ($n % 4 === 2) {
            $server = stream_socket_server("udg://$path", $error, $message, STREAM_SERVER_BIND);
            $text = stream_socket_recvfrom($server, 100);
            unlink($path);

            return $text;
        }
        usleep(400_000);
        fwrite(stream_socket_client("udg://$path"), (string) ($n - 1));

        return (string) $n;
    },
];
