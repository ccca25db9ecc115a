<?php

/* ext-memcached, binary protocol, non-blocking, buffered writes. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/memcached.php';

function binary(bool $slow = false): Memcached
{
    $memcached = connect($slow);
    $memcached->setOption(Memcached::OPT_BINARY_PROTOCOL, true);
    $memcached->setOption(Memcached::OPT_NO_BLOCK, true);
    $memcached->setOption(Memcached::OPT_TCP_NODELAY, true);

    return $memcached;
}

return [
    'prints' => static function (): void {
        $memcached = binary();
        $key = bin2hex(random_bytes(8));
        $memcached->setOption(Memcached::OPT_BUFFER_WRITES, true);
        $all = [];
        for ($i = 0; $i < 200; $i++) {
            $all["$key$i"] = $i;
            $memcached->set("$key$i", $i);
        }
        var_dump($memcached->flushBuffers(), $memcached->getMulti(array_keys($all)) === $all);
        var_dump($memcached->increment("$key:count", 1, 7), $memcached->touch("$key:count", 60));
    },
    'waits' => static function (int $n): string {
        binary()->set("binary$n", $n);

        return (string) binary(slow: true)->get("binary$n");
    },
];
