<?php

/* The server dies under load and comes back: waiting users get the error at once, and afterwards every user is served
 * again. */

declare(strict_types=1);

use Weft\Database\SharedPdo;

use function Weft\go;

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/mariadb.php';

$server = new Mariadb(getcwd());
$server->start();
$db = new SharedPdo($server->dsn(), 'root', '', [PDO::ATTR_EMULATE_PREPARES => false], max: 4, waitTimeout: 60);
$ask = static function (string $sql) use ($db): string {
    try {
        return (string) $db->query($sql)->fetchColumn();
    } catch (PDOException $failure) {
        return 'failed';
    }
};
$ask('SELECT 1');

$tasks = array_map(fn () => go($ask, 'SELECT SLEEP(30)'), range(1, 40));
until(fn () => $db->metrics()['in_use'] === 4 && $db->metrics()['waiting'] === 36);
$began = hrtime(true);
$server->kill();
echo json_encode(array_count_values(array_map(fn ($task) => $task->await(), $tasks))), "\n";
echo hrtime(true) - $began < 20e9 ? "long before their deadline\n" : "late\n";
echo numbers($db->pool, 'open', 'in_use', 'connecting', 'waiting', 'timeouts'), "\n";

echo json_encode(array_count_values(array_map(fn ($task) => $task->await(), array_map(fn () => go($ask, 'SELECT 1'), range(1, 40))))), "\n";
$server->start();
echo json_encode(array_count_values(array_map(fn ($task) => $task->await(), array_map(fn () => go($ask, 'SELECT 1'), range(1, 40))))), "\n";

// Idle connections to a server that was replaced: a user that only reads does not notice.
$server->kill();
$server->start();
echo json_encode(array_count_values(array_map(fn ($task) => $task->await(), array_map(fn () => go($ask, 'SELECT 2'), range(1, 40))))), "\n";
echo numbers($db->pool, 'open', 'in_use', 'waiting', 'timeouts'), "\n";
$server->kill();

__halt_compiler();
{"failed":40}
long before their deadline
open 0, in_use 0, connecting 0, waiting 0, timeouts 0
{"failed":40}
{"1":40}
{"2":40}
open 4, in_use 0, waiting 0, timeouts 0
