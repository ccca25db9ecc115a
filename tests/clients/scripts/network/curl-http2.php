<?php

/* curl over HTTP/2: transfers share one connection. */

declare(strict_types=1);

function transfer(): CurlHandle
{
    $curl = curl_init(getenv('UPSTREAM_HTTP') . '/late');
    curl_setopt_array($curl, [
        CURLOPT_RETURNTRANSFER => true,
        CURLOPT_HTTP_VERSION => CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE,
        CURLOPT_PIPEWAIT => true,
    ]);

    return $curl;
}

return [
    'prints' => static function (): void {
        $curl = transfer();
        echo curl_exec($curl), ' ', curl_getinfo($curl, CURLINFO_HTTP_VERSION), ' ', curl_getinfo($curl, CURLINFO_HTTP_CODE), "\n";
        $multi = curl_multi_init();
        curl_multi_setopt($multi, CURLMOPT_PIPELINING, CURLPIPE_MULTIPLEX);
        $transfers = [transfer(), transfer(), transfer()];
        foreach ($transfers as $curl) {
            curl_multi_add_handle($multi, $curl);
        }
        do {
            curl_multi_exec($multi, $active);
            curl_multi_select($multi, 1);
        } while ($active);
        echo implode(' ', array_map(curl_multi_getcontent(...), $transfers)), "\n";
    },
    'waits' => static function (int $n): string {
        $curl = transfer();

        return curl_exec($curl) === 'h2' && curl_getinfo($curl, CURLINFO_HTTP_VERSION) === CURL_HTTP_VERSION_2 ? (string) $n : curl_error($curl);
    },
];
