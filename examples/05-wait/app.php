<?php
// Waiting costs nothing: this application asks itself for a slow page with plain curl. One worker answers hundreds of these
// at once, though every call blocks as far as PHP knows.
//
//     weft serve examples/05-wait/app.php --workers 1
//     ab -n 200 -c 100 http://127.0.0.1:8080/

use Weft\Http\Request;

function fetch(string $url): string
{
    $curl = curl_init($url);
    curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 10]);

    return (string) curl_exec($curl);
}

return function (Request $request): string {
    if ($request->path() === '/slow') {
        usleep(100_000); // a database, an upstream, a lock…

        return 'slow answer';
    }
    $start = hrtime(true);
    $answer = fetch("http://{$request->host()}/slow");

    return sprintf("%s after %.0f ms\n", $answer, (hrtime(true) - $start) / 1e6);
};
