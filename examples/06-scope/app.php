<?php
// Ten upstream calls of 50 ms each, at the same time, in a Scope: the page takes little more than one of them. If one fails,
// the others are cancelled, and if all together take too long, too.
//
//     weft serve examples/06-scope/app.php --workers 1
//     curl http://127.0.0.1:8080/

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Scope;

function price(string $url): int
{
    $curl = curl_init($url);
    curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_FAILONERROR => true]);
    $answer = curl_exec($curl);
    return $answer === false ? throw new RuntimeException(curl_error($curl)) : (int) $answer;
}

return function (Request $request): Response {
    if ($request->path() === '/price') {
        usleep(50_000); // an upstream is slow
        return $request->query('shop') < 10 ? Response::text((string) (100 + $request->query('shop'))) : Response::text('', 404);
    }
    $start = hrtime(true);
    try {
        $prices = Scope::run(function (Scope $scope) use ($request): array {
            $first = (int) $request->query('first', '0');
            $tasks = [];
            foreach (range($first, $first + 9) as $shop) {
                $tasks[$shop] = $scope->go(price(...), "http://{$request->host()}/price?shop=$shop");
            }
            return array_map(fn ($task) => $task->await(), $tasks);
        }, timeout: 2.0);
    } catch (RuntimeException $failure) { // a TimeoutException is one, too
        return Response::json(['error' => $failure->getMessage()], 502);
    }

    return Response::json(['prices' => $prices, 'milliseconds' => (int) ((hrtime(true) - $start) / 1e6)]);
};
