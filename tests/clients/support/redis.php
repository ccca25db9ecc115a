<?php

declare(strict_types=1);

function connect(): Redis
{
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));

    return $redis;
}

