<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * Which statements of a connection MariaDB prepares although the client would put their parameters in (emulated prepares,
 * PDO's default for MySQL): those that are executed again and give the same rows either way.
 *
 * It must not guess. Both ways differ for numbers of a fixed number of decimals that are computed, for parameters that
 * name a column or stand in LIMIT, for a name used twice, and where SQL text is more than columns and comparisons. So
 * only what PLAIN describes is a candidate, and its first result, which was emulated, has to have no such number.
 * tests/pools/scripts/shared/server-side.php compares both ways.
 *
 * @internal
 */
final class ServerSide
{
    private const PLAIN = <<<'REGEX'
        ~^\s*SELECT\s+(?&column)(?:\s*,\s*(?&column))*\s+FROM\s+(?&table)
        (?:\s*,\s*(?&table)|\s+(?:(?:LEFT|RIGHT|INNER|OUTER|CROSS)\s+)*JOIN\s+(?&table)(?:\s+ON\s+(?&conditions))?)*+
        (?:\s+WHERE\s+(?&conditions))?
        (?:\s*\bORDER\s+BY\s+(?&path)(?:\s+(?:ASC|DESC))?(?:\s*,\s*(?&path)(?:\s+(?:ASC|DESC))?)*)?
        (?:\s*\bLIMIT\s+\d+(?:\s*(?:,|OFFSET)\s*\d+)?)?
        (?:\s*\bFOR\s+UPDATE|\s*\bLOCK\s+IN\s+SHARE\s+MODE)?\s*$
        (?(DEFINE)
            (?<name>`[^`]+`|(?!(?:SELECT|FROM|WHERE|ORDER|GROUP|LIMIT|HAVING|UNION|ON|AND|OR|NOT|IN|LIKE|BETWEEN|IS|AS
                |JOIN|LEFT|RIGHT|INNER|OUTER|CROSS|NATURAL|FOR|LOCK|INTO|USING|PROCEDURE|FORCE|USE|IGNORE|STRAIGHT_JOIN)\b)[a-z_]\w*+)
            (?<path>(?&name)(?:\.(?&name)){0,2}+)
            (?<column>\*|(?:(?&name)\.){1,2}\*|COUNT\(\*\)(?:\s+AS\s+(?&name))?|(?&path)(?:\s+(?:AS\s+)?(?&name))?)
            (?<table>(?&path)(?:\s+(?:AS\s+)?(?&name))?)
            (?<value>\?|:\w++|-?\d++|(?:NULL|TRUE|FALSE)\b)
            (?<compare>\s*(?:<=>|<>|!=|<=|>=|=|<|>)\s*|\s+(?:NOT\s+)?LIKE\s+)
            (?<condition>(?&path)(?:(?&compare)(?:(?&value)|(?&path))|\s+IS\s+(?:NOT\s+)?NULL\b
                |\s+(?:NOT\s+)?IN\s*\(\s*(?&value)(?:\s*,\s*(?&value))*+\s*\)|\s+(?:NOT\s+)?BETWEEN\s+(?&value)\s+AND\s+(?&value)))
            (?<conditions>[(\s]*+(?&condition)(?:\s*\)+)*+(?:\s*(?:AND|OR)\b[(\s]*+(?&condition)(?:\s*\)+)*+)*+)
        )~ix
        REGEX;

    /** @var array<string, bool> by text: whether the server prepares it when it is executed next */
    private array $verdicts = [];

    private function __construct(private readonly int $statementsMax) {}

    /**
     * For a connection on which both ways give the same; null for others.
     *
     * @param bool $chosen the application has chosen a way itself
     */
    public static function of(\PDO $pdo, int $statementsMax, bool $chosen): ?self
    {
        if ($chosen || $statementsMax === 0 || $pdo->getAttribute(\PDO::ATTR_STRINGIFY_FETCHES)) {
            return null;
        }
        $version = $pdo->getAttribute(\PDO::ATTR_SERVER_VERSION); // of MySQL nobody has compared it
        $emulates = (bool) $pdo->getAttribute(\PDO::ATTR_EMULATE_PREPARES);

        return $emulates && \is_string($version) && \stripos($version, 'mariadb') !== false ? new self($statementsMax) : null;
    }

    /** The parameters of a statement whose results are the same either way; null: it is not known to be one. */
    public static function parameters(string $sql): ?int
    {
        if (\strlen($sql) > 8192 || \preg_match(self::PLAIN, $sql) !== 1) {
            return null;
        }
        $unquoted = (string) \preg_replace('~`[^`]*+`~', '', $sql);
        $numbered = \substr_count($unquoted, '?');
        $named = (int) \preg_match_all('~:\w++~', $unquoted, $names);
        // PDO itself looks for both inside of backticks, too.
        $all = \substr_count($sql, '?') + \substr_count($sql, ':');
        if ($all !== $numbered + $named || ($numbered > 0 && $named > 0) || \count(\array_unique($names[0] ?? [])) !== $named) {
            return null;
        }

        return $numbered + $named;
    }

    /** A statement that was emulated has run: whether the server is to prepare it next time. */
    public function look(string $sql, \PDOStatement $result): bool
    {
        $verdict = $this->verdicts[$sql] ?? self::parameters($sql) !== null && self::plain($result);
        $this->note($sql, $verdict);

        return $verdict;
    }

    /** Prepared by the server, if that is wanted and it can. */
    public function prepare(\PDO $pdo, string $sql): ?\PDOStatement
    {
        if (!($this->verdicts[$sql] ?? false)) {
            return null;
        }
        $pdo->setAttribute(\PDO::ATTR_EMULATE_PREPARES, false);
        try {
            $statement = @$pdo->prepare($sql);
        } catch (\PDOException) {
            $statement = false; // the client's way fails for the same reason, or does not need the server's room for it
        } finally {
            $pdo->setAttribute(\PDO::ATTR_EMULATE_PREPARES, true);
        }
        if ($statement === false) {
            $this->note($sql, false);

            return null;
        }

        return $statement;
    }

    /** Whether all values of a result are given in full either way. MariaDB rounds a number of fixed decimals only as text. */
    private static function plain(\PDOStatement $result): bool
    {
        for ($column = $result->columnCount() - 1; $column >= 0; --$column) {
            $meta = $result->getColumnMeta($column);
            $real = \in_array($meta['native_type'] ?? null, ['FLOAT', 'DOUBLE'], true);
            if ($meta === false || ($real && $meta['precision'] !== 31)) {
                return false;
            }
        }

        return true;
    }

    private function note(string $sql, bool $verdict): void
    {
        $this->verdicts[$sql] = $verdict;
        if (\count($this->verdicts) > $this->statementsMax) {
            unset($this->verdicts[(string) \array_key_first($this->verdicts)]);
        }
    }
}
