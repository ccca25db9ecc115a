<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * What a database's error says about its connection. The codes: MariaDB's and MySQL's error reference, PostgreSQL's
 * appendix "Error Codes".
 *
 * @internal
 */
final class Failure
{
    /** Client and server codes after which a MySQL connection is useless: gone, lost, out of sync, killed, shut down. */
    private const MYSQL_GONE = [2002, 2003, 2006, 2013, 2014, 2027, 2055, 1053, 1077, 1079, 1080, 1152, 1159, 1160, 1161, 1927, 4031];

    /** The server closed the idle connection and said so before it read a statement. */
    private const MYSQL_IDLE = 4031;

    /** Whether the connection is useless after this. An error that is not the database's came from inside the code: take no risk. */
    public static function gone(\Throwable $failure): bool
    {
        if ($failure instanceof \mysqli_sql_exception) {
            return \in_array($failure->getCode(), self::MYSQL_GONE, true);
        }
        if (!$failure instanceof \PDOException) {
            return true;
        }
        [$state, $code] = [(string) ($failure->errorInfo[0] ?? $failure->getCode()), $failure->errorInfo[1] ?? 0];

        // Class 08: connection exceptions; 57P: an administrator or a crash has ended it (PostgreSQL).
        return (
            \str_starts_with($state, '08')
            || \str_starts_with($state, '57P')
            || ($state === 'HY000' && \in_array($code, self::MYSQL_GONE, true))
            || ($state === 'HY000' && $code === 7) // libpq: the connection was lost under way
        );
    }

    /** Whether the statement can be given to another connection: it has certainly not run, or running it twice changes nothing. */
    public static function repeatable(\PDOException $failure, string $sql): bool
    {
        return (
            ($failure->errorInfo[1] ?? 0) === self::MYSQL_IDLE
            || \preg_match(
                '/^\s*(?:SELECT\b(?!.*\b(?:FOR\s+UPDATE|INTO|NEXTVAL|SETVAL)\b)|SHOW\b|DESC(?:RIBE)?\b|EXPLAIN\b|VALUES\b)/is',
                $sql,
            ) === 1
        );
    }

    /**
     * Whether PostgreSQL refuses a statement that was prepared before its table changed ("cached plan must not change result type"). It
     * has not run.
     */
    public static function stale(\Throwable $failure): bool
    {
        return $failure instanceof \PDOException && ($failure->errorInfo[0] ?? '') === '0A000';
    }

    /**
     * Whether a statement changes the session itself, which other coroutines must not inherit: variables, the selected
     * database, locks, temporary tables, statements by name.
     */
    public static function changesSession(string $sql): bool
    {
        return (
            \preg_match(
                '/^\s*(?:SET\b(?!\s+TRANSACTION)|USE\b|LOCK\b|FLUSH\s+TABLES\b|LISTEN\b|HANDLER\b|CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+|LOCAL\s+)?TEMP(?:ORARY)?\b'
                . '|PREPARE\b|PRAGMA\b|ATTACH\b|DECLARE\b|SELECT\s+(?:GET_LOCK|PG_(?:TRY_)?ADVISORY_LOCK)\b)/i',
                $sql,
            ) === 1
        );
    }
}
