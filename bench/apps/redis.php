<?php

use Weft\Http\Request;
use Weft\Redis\RedisPool;

$pool = new RedisPool(port: (int) getenv('BENCH_REDIS_PORT'), max: (int) (getenv('BENCH_CONNECTIONS') ?: 16), waitTimeout: 30);
$get = static fn (Redis $redis): string => $redis->get('greeting');

return fn (Request $r): string => $pool->with($get) . ' World';
