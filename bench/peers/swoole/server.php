<?php

// The same answers by Swoole: one worker, its runtime hooks, connections in a channel of its own.
// php -d extension=PATH server.php ROLE PORT; PHP's other settings are Debian's, as for every peer.

declare(strict_types=1);

use Swoole\Coroutine\Channel;
use Swoole\Http\Request;
use Swoole\Http\Response;
use Swoole\Http\Server;

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
    'db10' => pool(128, pdo(...)),
    'redis' => pool(CONNECTIONS, redis(...)),
    default => null,
};
$answer = match ($role) {
    'hello' => static fn (): string => 'Hello World',
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
$server->set(['worker_num' => 1, 'hook_flags' => SWOOLE_HOOK_ALL, 'log_level' => SWOOLE_LOG_ERROR]);
$server->on('request', static function (Request $request, Response $response) use ($answer): void {
    $response->header('Content-Type', 'text/html; charset=UTF-8');
    $response->end($answer());
});
$server->start();
