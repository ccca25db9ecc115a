<?php

declare(strict_types=1);

namespace Popup\Storage;

use PDO;

/**
 * Many rows in one statement, whose text depends on little but their number: a connection that keeps statements prepares few.
 *
 * Must not know: tables. Invariant: a row may be sent twice in a statement, so what happens on conflict must change nothing
 * the second time.
 */
final class Rows
{
    /** Numbers of rows are rounded up to a multiple of this, by sending the first row again. */
    private const STEP = 125;

    /** The most rows of a statement. */
    private const MAX = 1_000;

    /**
     * @param string $into the statement up to VALUES
     * @param array<list<string|int>> $rows at least one, all of the same width
     * @param string $onConflict the end of the statement
     * @return int how many rows were inserted
     */
    public static function insert(PDO $connection, string $into, array $rows, string $onConflict): int
    {
        $inserted = 0;
        foreach (array_chunk($rows, self::MAX) as $chunk) {
            $count = count($chunk) === 1 ? 1 : (int) ceil(count($chunk) / self::STEP) * self::STEP;
            $marks = '(' . substr(str_repeat(',?', count($chunk[0])), 1) . ')';
            $values = substr(str_repeat(",$marks", $count), 1);
            $statement = $connection->prepare("$into VALUES $values$onConflict");
            $statement->execute(array_merge(...array_pad($chunk, $count, $chunk[0])));
            $inserted += $statement->rowCount();
        }

        return $inserted;
    }
}
