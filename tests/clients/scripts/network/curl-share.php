<?php

/* curl: connections that transfers of all requests share, through one share handle and through a pool of handles. */

declare(strict_types=1);

$share = curl_share_init();
curl_share_setopt($share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);

$get = static function (string $path, array $options = []) use ($share): string {
    $curl = curl_init(getenv('UPSTREAM_HTTP') . $path);
    curl_setopt_array($curl, $options + [CURLOPT_RETURNTRANSFER => true, CURLOPT_SHARE => $share]);
    $answer = curl_exec($curl);

    return $answer === false ? 'error ' . curl_errno($curl) : $answer . ' ' . curl_getinfo($curl, CURLINFO_NUM_CONNECTS);
};

return [
    'prints' => static function () use ($get): void {
        // The first may use a connection of an earlier request, and so may the third, whose own one is closed.
        echo strtok($get('/late/0/first'), ' '), ', ', $get('/late/0/second'), "\n";
        echo $get('/late/60000/text', [CURLOPT_TIMEOUT_MS => 50]), ', ', strtok($get('/late/0/third'), ' '), ', ', $get('/late/0/fourth'), "\n";
        $curl = curl_init();
        foreach (['one', 'two'] as $text) {
            curl_setopt_array($curl, [CURLOPT_URL => getenv('UPSTREAM_HTTP') . "/late/0/$text", CURLOPT_RETURNTRANSFER => true]);
            echo curl_exec($curl), ' ', curl_getinfo($curl, CURLINFO_NUM_CONNECTS), "\n";
            curl_reset($curl);
        }
    },
    'waits' => static fn (int $n): string => strtok($get("/late/500/$n"), ' '),
];
