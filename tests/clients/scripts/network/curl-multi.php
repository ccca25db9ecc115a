<?php

/* curl_multi: one request makes several transfers and waits for them with curl_multi_select(). */

declare(strict_types=1);

/**
 * @param list<string> $paths
 * @return list<string>
 */
function all(array $paths): array
{
    $multi = curl_multi_init();
    $transfers = [];
    foreach ($paths as $path) {
        $transfers[] = $curl = curl_init(getenv('UPSTREAM_HTTP') . $path);
        curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
        curl_multi_add_handle($multi, $curl);
    }
    do {
        $status = curl_multi_exec($multi, $active);
        if ($active) {
            curl_multi_select($multi, 5);
        }
    } while ($active && $status === CURLM_OK);

    return array_map(curl_multi_getcontent(...), $transfers);
}

return [
    'prints' => static function (): void {
        echo implode(' ', all(['/late/60/a', '/late/0/b', '/slowly/50/cdefg'])), "\n";
        $multi = curl_multi_init();
        var_dump(curl_multi_select($multi, 0.01));
    },
    'waits' => static fn (int $n): string => all(["/late/500/$n", '/late/300/x'])[0],
];
