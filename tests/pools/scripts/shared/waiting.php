<?php

/* A prepared statement that waits for a connection: whatever ends its wait, no connection is lost and none is used by two. */

declare(strict_types=1);

use Weft\Channel;

use function Weft\go;

require getenv('POOLS') . '/support.php';

$db = shared(max: 1, waitTimeout: 20, waitersMax: 2);
table($db, 'waiting', 9);
$name = static function (int $id) use ($db): string {
    $byId = $db->prepare('SELECT name FROM waiting WHERE id = ?');
    $byId->execute([$id]);

    return $byId->fetchColumn();
};
$name(1); // the connection has the statement

/** Has the connection in use until something is sent, and calls $then as soon as it has given it back. */
$used = static function (callable $then) use ($db): array {
    [$begun, $end] = [new Channel(), new Channel()];
    $task = go(static function () use ($db, $begun, $end, $then): mixed {
        $connection = $db->pool->acquire();
        $begun->send('has it');
        $end->receive();
        $db->pool->release($connection); // whoever waits has it from now on

        return $then();
    });
    $begun->receive();

    return [$end, $task];
};
$waiting = static function (int $count) use ($db): void {
    until(fn () => $db->metrics()['waiting'] === $count);
};

// Cancelled when it has been given the connection, and before it runs: its query is cut short, unless the answer is there when it
// looks; the next one gets a connection, a new one or this one.
foreach ([true, false] as $another) {
    $first = null;
    [$end, $holder] = $used(function () use (&$first) {
        $first->cancel();
    });
    $first = go(fn (): string => thrown(fn () => $name(2)));
    $waiting(1);
    $second = $another ? go(fn (): string => $name(3)) : null;
    $waiting($another ? 2 : 1);
    $end->send('now');
    $ended = in_array($first->await(), ['Weft\CancelledError: The task was cancelled', 'returned "row 2"'], true);
    echo json_encode($ended), '; ', $second?->await() ?? $name(4), '; ', numbers($db->pool, 'open', 'in_use', 'waiting'), "\n";
    $holder->await();
}

// More than may wait.
[$end, $holder] = $used(fn () => null);
$tasks = [go(fn (): string => $name(5)), go(fn (): string => $name(6))];
$waiting(2);
echo go(fn (): string => thrown(fn () => $name(7)))->await(), "\n";
$end->send('now');
echo implode(', ', array_map(fn ($task) => $task->await(), $tasks)), '; ', numbers($db->pool, 'in_use', 'waiting'), "\n";

// An attribute that is set meanwhile is its connection's, too.
[$end, $holder] = $used(fn () => null);
$named = go(static function () use ($db): string {
    $byId = $db->prepare('SELECT name AS Name FROM waiting WHERE id = ?');
    $byId->execute([8]);

    return json_encode($byId->fetch(PDO::FETCH_ASSOC));
});
$waiting(1);
$setter = go(fn () => $db->setAttribute(PDO::ATTR_CASE, PDO::CASE_UPPER));
$end->send('now');
$setter->await();
$named->await();
echo json_encode($db->query('SELECT name FROM waiting WHERE id = 9')->fetch(PDO::FETCH_ASSOC)), "\n";

// The pool is closed.
[$end, $holder] = $used(fn () => null);
$refused = go(fn (): string => thrown(fn () => $name(1)));
$waiting(1);
$db->pool->close();
echo $refused->await(), "\n";
$end->send('now');
$holder->await();
echo numbers($db->pool, 'open', 'in_use', 'waiting', 'timeouts'), "\n";

__halt_compiler();
true; row 3; open 1, in_use 0, waiting 0
true; row 4; open 1, in_use 0, waiting 0
Weft\Pool\PoolException: Pool mysql: 2 coroutines wait already (waitersMax)
row 5, row 6; in_use 0, waiting 0
{"NAME":"row 9"}
Weft\Pool\PoolException: Pool mysql is closed
open 0, in_use 0, waiting 0, timeouts 0
