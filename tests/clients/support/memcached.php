<?php

declare(strict_types=1);

/** A client of the server; with `$slow`, behind a network that delays each answer by 0.5 s. */
function connect(bool $slow = false, ?string $persistent = null): Memcached
{
    $memcached = new Memcached($persistent);
    if ($memcached->getServerList() === []) {
        $memcached->addServer('127.0.0.1', (int) getenv($slow ? 'MEMCACHED_SLOW_PORT' : 'MEMCACHED_PORT'));
    }

    return $memcached;
}
