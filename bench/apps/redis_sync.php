<?php

// Blocking: one request at a time (--coroutines-max 1), one connection.

use Weft\Http\Request;

return function (Request $r): string {
    static $redis = null;
    if ($redis === null) {
        $redis = new Redis();
        $redis->connect('127.0.0.1', (int) getenv('BENCH_REDIS_PORT'));
    }

    return $redis->get('greeting') . ' World';
};
