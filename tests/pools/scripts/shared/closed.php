<?php

/* What a SharedPdo gives up is closed, however often it was used: statements beyond statementsMax, and connections that are too old. */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';

$other = new PDO(dsn(), 'root', '');
table($other, 'closed', 3);
$isOpen = fn (int $id): bool => (bool) $other->query("SELECT COUNT(*) FROM information_schema.processlist WHERE id = $id")->fetchColumn();

/** Each way to read a result to its end, several times. */
function useMuch(PDO $db, string $condition): void
{
    $statement = $db->prepare("SELECT id, name FROM closed WHERE $condition ORDER BY id");
    foreach (range(1, 20) as $round) {
        $statement->execute([1]);
        $statement->fetchAll();
        $statement->execute([3]);
        $statement->fetch();
        $statement->execute([9]);
        $statement->execute([2]);
        $statement->closeCursor();
        $statement->execute([3]);
        $statement->fetchColumn();
    }
}

$db = shared(max: 1, statementsMax: 2);
useMuch($db, 'id >= ?');
$closed = fn (): int => (int) $db->query("SHOW SESSION STATUS LIKE 'Com_stmt_close'")->fetchColumn(1);
$before = $closed();
useMuch($db, 'id >= ? AND 1 = 1');
useMuch($db, 'id >= ? AND 2 = 2');
useMuch($db, 'id >= ? AND 3 = 3');
echo 'statements closed: ', $closed() - $before - 1, "\n"; // the first question's own is one

$id = $db->query('SELECT CONNECTION_ID()')->fetchColumn();
echo 'open: ', json_encode($isOpen($id));
$db->pool->close();
until(fn () => !$isOpen($id));
echo ", and closed with its pool\n";

$db = shared(max: 1, ageMax: 0.2);
useMuch($db, 'id >= ?');
$id = $db->query('SELECT CONNECTION_ID()')->fetchColumn();
until(function () use ($db): bool {
    useMuch($db, 'id >= ?');

    return $db->metrics()['created'] > 1;
});
until(fn () => !$isOpen($id));
echo "closed because of its age\n";

__halt_compiler();
statements closed: 2
open: true, and closed with its pool
closed because of its age
