<?php

/* The second use of a statement, which is native, answers as PDO does: also where callers do something unusual in its middle. */

declare(strict_types=1);

use function Weft\go;

require getenv('POOLS') . '/support.php';

final class Closing
{
    public static ?PDOStatement $statement = null;
    public static string $throws = '';
    public int $id;
    public string $name;

    public function __construct()
    {
        self::$statement?->closeCursor();
        if (self::$throws !== '') {
            throw new RuntimeException(self::$throws);
        }
    }
}

/** @return list<mixed> */
function rounds(PDO $pdo): array
{
    table($pdo, 'quick', 4);
    $all = [];
    $byId = $pdo->prepare('SELECT id, name FROM quick WHERE id >= ? ORDER BY id');
    foreach ([1, 2, 9, 3] as $from) { // with rows, without, and with rows again
        array_push($all, $byId->execute([$from]), $byId->fetch(mode: PDO::FETCH_NUM), $byId->rowCount(), $byId->columnCount());
        array_push($all, $byId->fetchColumn(1), $byId->fetchAll(PDO::FETCH_KEY_PAIR), $byId->errorCode(), $byId->fetch());
    }
    $variable = 4;
    $byId->bindParam(1, $variable, PDO::PARAM_INT);
    array_push($all, $byId->execute(), $byId->fetchColumn(), $variable = 2, $byId->execute(), $byId->fetchAll(PDO::FETCH_COLUMN, 1));
    array_push($all, thrown(fn () => $byId->execute([1, 2])), $byId->execute([3]), $byId->fetch(PDO::FETCH_ASSOC));
    array_push($all, $byId->execute([4]), $byId->fetch(PDO::FETCH_LAZY)->name);
    foreach ([1, 2] as $round) { // another statement in the middle of a result
        $byId->execute([2]);
        $inner = $pdo->prepare('SELECT name FROM quick WHERE id = ?');
        array_push($all, $byId->fetchAll(PDO::FETCH_FUNC, static fn ($id) => [$id, $inner->execute([$id]), $inner->fetchColumn()]));
    }
    $byId->execute([1]);
    Closing::$throws = 'in a constructor';
    array_push($all, thrown(fn () => $byId->fetchAll(PDO::FETCH_CLASS, Closing::class)), $byId->closeCursor());
    Closing::$throws = '';
    $byId->execute([1]);
    Closing::$statement = $byId;
    array_push($all, count($byId->fetchAll(PDO::FETCH_CLASS, Closing::class)) > 0, $byId->closeCursor());
    Closing::$statement = null;
    array_push($all, $byId->execute([4]), $byId->fetchAll(PDO::FETCH_NUM));
    $update = $pdo->prepare('UPDATE quick SET name = ? WHERE id = ?');
    array_push($all, $update->execute(['one', 1]), $update->rowCount(), $update->execute(['two', 2]), $update->rowCount(), $update->fetch());
    $pdo->beginTransaction();
    array_push($all, $update->execute(['lost', 3]), $byId->execute([3]), $byId->fetch(), $pdo->inTransaction(), $pdo->rollBack());
    array_push($all, $byId->execute([3]), $byId->fetch(), $byId->closeCursor());

    return $all;
}

foreach ([true, false] as $emulate) {
    $options = [PDO::ATTR_EMULATE_PREPARES => $emulate];
    $expected = rounds(new PDO(dsn(), 'root', '', $options));
    $shared = new Weft\Database\SharedPdo(dsn(), 'root', '', $options, max: 3);
    foreach (['first', 'second'] as $time) { // the second finds every statement prepared
        $actual = rounds($shared);
        foreach ($expected as $index => $answer) {
            if (json_encode($answer) !== json_encode($actual[$index])) {
                echo "$time $index: ", json_encode($actual[$index]), ' instead of ', json_encode($answer), "\n";
            }
        }
    }
    echo count($expected), ' answers; ', numbers($shared->pool, 'in_use'), "\n";
}

// A coroutine that ends, or is cancelled, with a result in its hands leaves the connection to others.
$shared = new Weft\Database\SharedPdo(dsn(), 'root', '', [PDO::ATTR_EMULATE_PREPARES => false], max: 1);
$left = [];
foreach (range(1, 3) as $number) {
    go(static function () use ($shared, &$left): void {
        $statement = $shared->prepare('SELECT id FROM quick ORDER BY id');
        $statement->execute();
        $statement->fetch();
        $left[] = $statement;
    })->await();
}
echo json_encode(array_map(fn ($statement) => $statement->fetch(), $left)), ' ', numbers($shared->pool, 'in_use', 'open', 'discarded'), "\n";

__halt_compiler();
63 answers; in_use 0
63 answers; in_use 0
[false,false,false] in_use 0, open 1, discarded 0
