<?php

// The same answers by Workerman: one process, or BENCH_WORKERS of them, on its own loop or on that of ext-event.
// BENCH_WORKERMAN names the file that loads its classes. php server.php ROLE PORT select|event start; PHP's other settings are
// Debian's, as for every peer.

declare(strict_types=1);

use Workerman\Connection\TcpConnection;
use Workerman\Events\Event;
use Workerman\Events\Select;
use Workerman\Protocols\Http\Request;
use Workerman\Protocols\Http\Response;
use Workerman\Timer;
use Workerman\Worker;

require getenv('BENCH_WORKERMAN') ?: throw new Exception('BENCH_WORKERMAN has to name the file that loads Workerman');
require dirname(__DIR__, 2) . '/apps/items.php';

[, $role, $port, $loop] = $argv;
$argv = [$argv[0], 'start']; // what Workerman reads
Worker::$pidFile = getcwd() . '/workerman.pid';
Worker::$logFile = getcwd() . '/workerman.log';
Worker::$eventLoopClass = $loop === 'event' ? Event::class : Select::class;
TcpConnection::$defaultMaxPackageSize = 4 << 20;

$server = new Worker("http://127.0.0.1:{$port}");
$server->count = (int) (getenv('BENCH_WORKERS') ?: 1);
$server->onMessage = static function (TcpConnection $connection, Request $request) use ($role): void {
    $hello = new Response(200, ['Content-Type' => 'text/html; charset=UTF-8'], 'Hello World');
    match (true) {
        // A timer: the process would serve nobody while it sleeps.
        $role === 'sleep' || $request->path() === '/sleep' => Timer::delay(0.010, static fn () => $connection->send($hello)),
        $role === 'json' => $connection->send(
            new Response(200, ['Content-Type' => 'application/json'], json_encode(items((int) $request->get('id')), JSON_THROW_ON_ERROR)),
        ),
        $role === 'received' => $connection->send(strlen($request->rawBody()) . ' bytes'),
        $role === 'sent' => $connection->send(str_pad($request->get('id') . ' ', 1 << 20, 'x')),
        default => $connection->send($hello),
    };
};
Worker::runAll();
