<?php

// The same answers by RoadRunner's PHP worker. BENCH_ROADRUNNER names the file that loads spiral/roadrunner-http and nyholm/psr7.

declare(strict_types=1);

use Nyholm\Psr7\Factory\Psr17Factory;
use Nyholm\Psr7\Response;
use Spiral\RoadRunner\Http\PSR7Worker;
use Spiral\RoadRunner\Worker;

require getenv('BENCH_ROADRUNNER') ?: throw new Exception('BENCH_ROADRUNNER has to name the file that loads spiral/roadrunner-http');
require dirname(__DIR__, 2) . '/apps/items.php';

$factory = new Psr17Factory();
$worker = new PSR7Worker(Worker::create(), $factory, $factory, $factory);
while (($request = $worker->waitRequest()) !== null) {
    $id = $request->getQueryParams()['id'] ?? '0';
    $path = $request->getUri()->getPath();
    if ($path === '/sleep') {
        usleep(10_000);
    }
    $worker->respond(match ($path) {
        '/json' => new Response(200, ['Content-Type' => 'application/json'], json_encode(items((int) $id), JSON_THROW_ON_ERROR)),
        '/received' => new Response(200, [], strlen((string) $request->getBody()) . ' bytes'),
        '/sent' => new Response(200, [], str_pad("{$id} ", 1 << 20, 'x')),
        default => new Response(200, ['Content-Type' => 'text/html; charset=UTF-8'], 'Hello World'),
    });
}
