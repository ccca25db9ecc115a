<?php

use Weft\Http\Request;

use function Weft\parallel;

function call_upstream(): string
{
    static $url = null;
    $url ??= 'http://127.0.0.1:' . getenv('BENCH_UPSTREAM_PORT') . '/';
    $curl = curl_init($url);
    curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);

    return curl_exec($curl);
}

return function (Request $r): string {
    $answers = parallel(array_fill(0, 10, call_upstream(...)));

    return implode($answers) === str_repeat('slow', 10) ? 'Hello World' : throw new Error(json_encode($answers));
};
