--TEST--
Connectors of mysqli and Redis say what is not there, and which failures end a connection
--LIBRARY--
--FILE--
<?php
use Weft\Database\MysqliConnector;
use Weft\Redis\RedisConnector;

$mysqli = new MysqliConnector('127.0.0.1', 'nobody', 'none', null, 1, null, 'utf8mb4', [], false);
try {
    $mysqli->connect();
} catch (mysqli_sql_exception $failure) {
    echo get_class($failure), ' ', $failure->getCode(), "\n";
}
foreach ([2006 => 'gone', 1062 => 'refused'] as $code => $name) {
    echo $name, ' ', json_encode($mysqli->broken(new mysqli(), new mysqli_sql_exception('message', $code))), "\n";
}
echo json_encode([$mysqli->broken(new mysqli(), new DomainException()), $mysqli->broken(new mysqli(), new Error())]), "\n";

$redis = new RedisConnector('127.0.0.1', 1, null, 0, 1.0, 1.0, []);
try {
    $redis->connect();
} catch (RedisException $failure) {
    echo get_class($failure), "\n";
}
$unconnected = new Redis();
foreach ([new RedisException('read error on connection'), new DomainException(), new Error()] as $failure) {
    echo json_encode($redis->broken($unconnected, $failure)), ' ';
}
--EXPECT--
mysqli_sql_exception 2002
gone true
refused false
[false,true]
RedisException
true false true
