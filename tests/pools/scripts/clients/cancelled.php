<?php

/* A cancelled call on a connection throws CancelledError, not the client's own error about a broken connection. */

declare(strict_types=1);

use Weft\CancelledError;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$pdo = new PDO(dsn(), 'root', '');
$mysqli = new mysqli('127.0.0.1', 'root', '', 'weft', (int) getenv('MARIADB_PORT'));
$redis = static function (): Redis {
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) getenv('REDIS_PORT'));
    $redis->setOption(Redis::OPT_READ_TIMEOUT, -1);

    return $redis;
};
[$popping, $listening] = [$redis(), $redis()];
$calls = [
    'PDO' => fn () => $pdo->query('SELECT SLEEP(60)'),
    'mysqli' => fn () => $mysqli->query('SELECT SLEEP(60)'),
    'Redis, blPop()' => fn () => $popping->blPop(['nothing'], 0),
    'Redis, subscribe()' => fn () => $listening->subscribe(['silence'], fn () => null),
];
foreach ($calls as $name => $call) {
    $began = false;
    $task = go(static function () use ($call, &$began): string {
        for (;;) {
            $began = true;
            try {
                $call();
            } catch (PDOException | mysqli_sql_exception | RedisException) {
                continue; // as code does that reconnects
            } catch (CancelledError $error) {
                return $error->getMessage();
            }
        }
    });
    until(static function () use (&$began): bool {
        return $began;
    });
    $task->cancel('enough');
    echo $name, ': ', $task->await(), "\n";
}

__halt_compiler();
PDO: The task was cancelled: enough
mysqli: The task was cancelled: enough
Redis, blPop(): The task was cancelled: enough
Redis, subscribe(): The task was cancelled: enough
