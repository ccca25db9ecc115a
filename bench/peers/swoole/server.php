<?php

// The same answers by Swoole: one worker, its runtime hooks, connections in a channel of its own.
// php -d extension=PATH server.php ROLE PORT; PHP's other settings are Debian's, as for every peer.

declare(strict_types=1);

use Swoole\Coroutine\Channel;
use Swoole\Http\Request;
use Swoole\Http\Response;
use Swoole\Http\Server;

require dirname(__DIR__, 2) . '/apps/items.php';
require dirname(__DIR__, 2) . '/apps/queries.php';

/** A channel of connections, which are made when they are first needed: a worker connects after its fork. */
function pool(int $size, Closure $connect): Closure
{
    $channel = null;

    return static function (Closure $work) use (&$channel, $size, $connect): string {
        if ($channel === null) {
            $channel = new Channel($size);
            for ($i = 0; $i < $size; ++$i) {
                $channel->push($connect());
            }
        }
        $connection = $channel->pop();
        try {
            return $work($connection);
        } finally {
            $channel->push($connection);
        }
    };
}

function pdo(): PDO
{
    return new PDO(DSN, 'bench', 'bench');
}

function redis(): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) getenv('BENCH_REDIS_PORT'));

    return $redis;
}

function upstream(): string
{
    $curl = curl_init('http://127.0.0.1:' . getenv('BENCH_UPSTREAM_PORT') . '/');
    curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);

    return curl_exec($curl);
}

[, $role, $port] = $argv;
$with = match ($role) {
    'db3' => pool(CONNECTIONS, pdo(...)),
    'db10' => pool(SLOW_CONNECTIONS, pdo(...)),
    'redis' => pool(CONNECTIONS, redis(...)),
    default => null,
};
$answer = match ($role) {
    'hello' => static fn (): string => 'Hello World',
    'json' => static fn (Request $request): string => json_encode(items((int) ($request->get['id'] ?? 0)), JSON_THROW_ON_ERROR),
    'received' => static fn (Request $request): string => strlen($request->rawContent()) . ' bytes',
    'sent' => static fn (Request $request): string => str_pad(($request->get['id'] ?? '') . ' ', 1 << 20, 'x'),
    'container' => static function (Request $request): string {
        if ($request->server['request_uri'] === '/sleep') {
            usleep(10_000);
        }

        return 'Hello World';
    },
    'sleep' => static function (): string {
        usleep(10_000);

        return 'Hello World';
    },
    'db3' => static fn (): string => $with(three_queries(...)),
    'db10' => static fn (): string => $with(slow_query(...)),
    'redis' => static fn (): string => $with(static fn (Redis $redis): string => $redis->get('greeting')) . ' World',
    'scope' => static function (): string {
        $answers = Swoole\Coroutine\batch(array_fill(0, 10, upstream(...)));

        return implode($answers) === str_repeat('slow', 10) ? 'Hello World' : throw new Error(json_encode($answers));
    },
};

$server = new Server('127.0.0.1', (int) $port, SWOOLE_BASE);
$workers = (int) (getenv('BENCH_WORKERS') ?: 1);
$server->set(['worker_num' => $workers, 'package_max_length' => 4 << 20, 'hook_flags' => SWOOLE_HOOK_ALL, 'log_level' => SWOOLE_LOG_ERROR]);
$server->on('request', static function (Request $request, Response $response) use ($answer, $role): void {
    $response->header('Content-Type', $role === 'json' ? 'application/json' : 'text/html; charset=UTF-8');
    $response->end($answer($request));
});
$server->start();
