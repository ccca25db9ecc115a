<?php

/* A parameter may be an object that asks the same database for its text, while its own statement is being executed. The connection
 * stays the coroutine's until both are done, and neither sees the other's parameters. */

declare(strict_types=1);

use function Weft\go;

require getenv('POOLS') . '/support.php';

final class Asking
{
    public static string $query = 'SELECT id FROM nested WHERE id = ?';
    public static string $fails = '';

    /** @var list<int> */
    public static array $inUse = [];

    public function __construct(private readonly Weft\Database\SharedPdo $db, private readonly int $id) {}

    public function __toString(): string
    {
        $statement = $this->db->prepare(self::$query);
        $statement->execute([$this->id]);
        $id = (string) $statement->fetchColumn();
        $statement->closeCursor();
        self::$inUse[] = (int) $this->db->metrics()['in_use'];

        return self::$fails === '' ? $id : throw new RuntimeException(self::$fails);
    }
}

foreach ([true, false] as $emulate) {
    $db = new Weft\Database\SharedPdo(dsn(), 'root', '', [PDO::ATTR_EMULATE_PREPARES => $emulate], max: 2);
    table($db, 'nested', 9);
    $found = [];
    go(static function () use ($db, &$found): void {
        $statement = $db->prepare('SELECT id FROM nested WHERE id = ?');
        foreach ([3, 4, 5] as $round) { // the first prepares, the others find it prepared
            $statement->execute([new Asking($db, $round)]);
            $found[] = (int) $statement->fetchColumn();
        }
        Asking::$fails = 'no text';
        $found[] = thrown(static fn () => $statement->execute([new Asking($db, 6)]));
        Asking::$fails = '';
        $found[] = [$statement->execute([7]), (int) $statement->fetchColumn()];
    })->await();
    echo json_encode($found), ' with ', implode(' ', array_unique(Asking::$inUse)), ' in use; then ',
        numbers($db->pool, 'open', 'idle', 'in_use'), "\n";
}

// Of three texts, two are kept: the one that was not used since the last look is dropped.
$db = new Weft\Database\SharedPdo(dsn(), 'root', '', [PDO::ATTR_EMULATE_PREPARES => false], statementsMax: 2, max: 1);
$prepared = static fn (): int => (int) $db->query("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'")->fetch()['Value'];
$use = static function (string ...$columns) use ($db, $prepared): int {
    $before = $prepared();
    foreach ($columns as $column) {
        $statement = $db->prepare("SELECT $column FROM nested WHERE id = ?");
        $statement->execute([1]);
        $statement->fetchAll();
    }

    return $prepared() - $before - 1;
};
$use('id'); // loads what is loaded once
echo json_encode([$use('id', 'name', 'id', 'name'), $use('1'), $use('1', '1'), $use('2', '2', '2'), $use('2', '1')]), "\n";

__halt_compiler();
[3,4,5,"RuntimeException: no text",[true,7]] with 1 in use; then open 1, idle 1, in_use 0
[3,4,5,"RuntimeException: no text",[true,7]] with 1 in use; then open 1, idle 1, in_use 0
[1,1,0,1,0]
