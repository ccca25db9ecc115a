<?php

/* The http wrapper: file_get_contents(), fopen(), copy(), time-outs, default_socket_timeout. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        $base = getenv('UPSTREAM_HTTP');
        echo file_get_contents("$base/late/10/text"), ' ', $http_response_header[0], "\n";
        $context = stream_context_create(['http' => ['method' => 'POST', 'header' => 'Content-Type: text/plain', 'content' => str_repeat('x', 100_000)]]);
        echo file_get_contents("$base/late/10/text", false, $context), "\n";
        $stream = fopen("$base/slowly/50/abcdefghij", 'r');
        while (!feof($stream)) {
            echo fread($stream, 100);
        }
        echo "\n";
        $short = stream_context_create(['http' => ['timeout' => 0.05]]);
        var_dump(@file_get_contents("$base/late/60000/text", false, $short));
        ini_set('default_socket_timeout', '1');
        $stream = fopen("$base/slowly/300000/abcdefghij", 'r');
        fread($stream, 100);
        var_dump(stream_get_meta_data($stream)['timed_out']);
        ini_restore('default_socket_timeout');
        var_dump(@file_get_contents('http://127.0.0.1:1/'));
        $copy = tempnam(sys_get_temp_dir(), 'copy');
        copy("$base/late/0/copied", $copy);
        echo file_get_contents($copy), "\n";
        unlink($copy);
    },
    'waits' => static fn (int $n): string => file_get_contents(getenv('UPSTREAM_HTTP') . "/late/500/$n"),
];
