<?php

/* RedisPool: when a connection is returned, an open MULTI is discarded and the database selected again. */

declare(strict_types=1);

use Weft\Redis\RedisPool;

use function Weft\go;
use function Weft\timeout;

require getenv('POOLS') . '/support.php';

$pool = new RedisPool(port: (int) getenv('REDIS_PORT'), database: 3, max: 4);
$tasks = array_map(fn ($n) => go(static function () use ($pool, $n): string {
    $pool->with(static function (Redis $redis) use ($pool, $n): void {
        until(fn () => $pool->pool->metrics()['open'] === 4); // the others run at the same time
        $redis->set("key $n", "value $n");
    });

    return $pool->with(fn (Redis $redis) => $redis->get("key $n"));
}), range(1, 100));
$answers = array_map(fn ($task) => $task->await(), $tasks);
echo count(array_unique($answers)), ' answers, the last ', end($answers), ', ', numbers($pool->pool, 'open', 'in_use'), "\n";
$pool->close();

$pool = new RedisPool(port: (int) getenv('REDIS_PORT'), database: 3, max: 1);
$pool->with(static function (Redis $redis): void {
    $redis->multi();
    $redis->set('key 1', 'never');
});
$pool->with(fn (Redis $redis) => $redis->select(0));
echo $pool->with(fn (Redis $redis) => $redis->get('key 1') . ' in ' . $redis->getDBNum()), ', ', numbers($pool->pool, 'discarded'), "\n";

echo thrown(fn () => $pool->with(fn () => throw new DomainException('mine'))), ', ', numbers($pool->pool, 'discarded'), "\n";
echo thrown(fn () => timeout(0.02, fn () => $pool->with(fn (Redis $redis) => $redis->blPop(['nothing'], 30)))), ', ';
echo $pool->with(fn (Redis $redis) => $redis->get('key 2')), ', ', numbers($pool->pool, 'discarded'), "\n";

// The server closes the connection: the user gets the error, and the next user gets a new connection.
$id = $pool->with(fn (Redis $redis) => $redis->client('id'));
$admin = new RedisPool(port: (int) getenv('REDIS_PORT'));
$admin->with(fn (Redis $redis) => $redis->rawCommand('CLIENT', 'KILL', 'ID', (string) $id));
echo str_starts_with(thrown(fn () => $pool->with(fn (Redis $redis) => $redis->get('key 3'))), 'RedisException') ? "told\n" : "not told\n";
echo $pool->with(fn (Redis $redis) => $redis->get('key 3')), ', ', numbers($pool->pool, 'open', 'discarded'), "\n";
$nobody = new RedisPool(port: 1, max: 1);
echo thrown(fn () => $nobody->with(fn () => null)), "\n";

__halt_compiler();
100 answers, the last value 100, open 4, in_use 0
value 1 in 3, discarded 0
DomainException: mine, discarded 0
Weft\TimeoutException: Not done within 0.02 seconds, value 2, discarded 1
told
value 3, open 1, discarded 2
RedisException: Connection refused
