<?php

/* curl: one transfer at a time, by host name, with callbacks, time-outs and errors. */

declare(strict_types=1);

/** @param array<int, mixed> $options */
function get(string $path, array $options = []): string|false
{
    $curl = curl_init(getenv('UPSTREAM_HTTP') . $path);
    curl_setopt_array($curl, $options + [CURLOPT_RETURNTRANSFER => true]);
    $answer = curl_exec($curl);

    return $answer === false ? 'error ' . curl_errno($curl) : $answer;
}

return [
    'prints' => static function (): void {
        echo get('/late/10/text'), "\n";
        echo get('/slowly/50/abcdefghij', [CURLOPT_WRITEFUNCTION => static function ($curl, string $part): int {
            usleep(100);
            echo $part;

            return strlen($part);
        }]), "\n";
        echo get('/late/60000/text', [CURLOPT_TIMEOUT_MS => 50]), "\n";
        echo get('/late/0/text', [CURLOPT_URL => 'http://127.0.0.1:1/']), "\n";
        echo get('/late/0/text', [CURLOPT_URL => 'http://no.such.host.invalid/', CURLOPT_CONNECTTIMEOUT_MS => 20_000]), "\n";
        $curl = curl_init(getenv('UPSTREAM_HTTP') . '/late/0/again');
        curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
        echo curl_exec($curl), ' ', curl_exec($curl), ' ', curl_getinfo($curl, CURLINFO_NUM_CONNECTS), "\n";
    },
    'waits' => static fn (int $n): string => get("/late/500/$n", [
        CURLOPT_URL => str_replace('127.0.0.1', 'localhost', getenv('UPSTREAM_HTTP')) . "/late/500/$n",
    ]),
];
