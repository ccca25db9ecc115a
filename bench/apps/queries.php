<?php

// The queries of the database scenarios, the same for every server: two by id and one of five rows, or one of
// 10 ms.

define('DSN', 'mysql:unix_socket=' . getenv('BENCH_DB_SOCKET') . ';dbname=bench');
define('CONNECTIONS', (int) (getenv('BENCH_CONNECTIONS') ?: 16));
define('SLOW_CONNECTIONS', (int) (getenv('BENCH_CONNECTIONS') ?: 128));
const BY_ID = 'SELECT id, name, value FROM item WHERE id = ?';
const SOME = 'SELECT id, name, value FROM item LIMIT 5';

function three_queries(PDO $db): string
{
    $statement = $db->prepare(BY_ID);
    $statement->execute([1]);
    $one = $statement->fetch();
    $statement = $db->prepare(BY_ID);
    $statement->execute([2]);
    $two = $statement->fetch();
    $statement = $db->prepare(SOME);
    $statement->execute();

    return answer($one, $two, $statement->fetchAll());
}

function slow_query(PDO $db): string
{
    $row = $db->query('SELECT id, SLEEP(0.01) FROM item WHERE id = 1')->fetch();

    return $row['id'] == 1 ? 'Hello World' : throw new Error('wrong row');
}

function answer(array $one, array $two, array $some): string
{
    if ($one['id'] != 1 || $two['id'] != 2 || count($some) !== 5) {
        throw new Error('wrong rows: ' . json_encode([$one, $two, $some]));
    }

    return 'Hello World';
}
