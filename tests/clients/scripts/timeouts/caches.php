<?php

/* Time-outs of phpredis and ext-memcached: a server that accepts connections and sends nothing. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/silent.php';

function redis(): void
{
    $listener = silent($port);
    $redis = new Redis();
    $redis->connect('127.0.0.1', $port, 1, null, 0, 0.5);
    $redis->get('key');
}

function memcached(): void
{
    $listener = silent($port);
    $memcached = new Memcached();
    $memcached->setOption(Memcached::OPT_POLL_TIMEOUT, 500);
    $memcached->addServer('127.0.0.1', $port);
    if ($memcached->get('key') === false) {
        throw new RuntimeException($memcached->getResultMessage());
    }
}

return [
    'prints' => static function (): void {
        echo failing(0.5, redis(...)), "\n", failing(0.5, memcached(...)), "\n";
    },
    'waits' => static fn (int $n): string => match (failing(0.5, $n % 4 < 2 ? redis(...) : memcached(...))) {
        'read error on connection to 127.0.0.1:PORT', 'A TIMEOUT OCCURRED' => "$n",
    },
];
