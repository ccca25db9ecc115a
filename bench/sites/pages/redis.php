<?php
$redis = new Redis();
$redis->pconnect('127.0.0.1', (int) getenv('BENCH_REDIS_PORT'));
echo $redis->get('greeting'), ' World';
