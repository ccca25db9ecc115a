<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool\Connector;

/**
 * Opens, checks and cleans plain PDO connections. Its user is responsible for what a session carries beyond a transaction.
 *
 * @implements Connector<\PDO>
 */
final class PdoConnector implements Connector
{
    /**
     * @param array<int, mixed>|null $options PDO's; errors are exceptions unless it says otherwise
     * @param list<string> $initial statements that each new connection runs first
     * @param int $statementsMax prepared statements that a connection keeps from lease to lease
     */
    public function __construct(
        private readonly string $dsn,
        #[\SensitiveParameter] private readonly ?string $username = null,
        #[\SensitiveParameter] private readonly ?string $password = null,
        private readonly ?array $options = null,
        private readonly array $initial = [],
        private readonly int $statementsMax = 0,
    ) {
        if (!empty($options[\PDO::ATTR_PERSISTENT])) {
            throw new \ValueError('ATTR_PERSISTENT and a pool exclude each other: the pool keeps connections open by itself');
        }
    }

    /** The number of one of pdo_mysql's attributes. It has another name since PHP 8.4, and PHP 8.5 warns of the old one. */
    public static function mysql(string $attribute): int
    {
        $name = (\PHP_VERSION_ID >= 80400 ? 'Pdo\Mysql::ATTR_' : 'PDO::MYSQL_ATTR_') . $attribute;

        return \defined($name) ? (int) \constant($name) : -1;
    }

    /** Whether one of the options says who prepares statements. */
    public function choosesEmulation(): bool
    {
        return isset($this->options[\PDO::ATTR_EMULATE_PREPARES]) || isset($this->options[self::mysql('DIRECT_QUERY')]);
    }

    /** Whether several statements may be sent at once to MySQL. */
    public function joins(): bool
    {
        return (bool) ($this->options[self::mysql('MULTI_STATEMENTS')] ?? true);
    }

    public function connect(): \PDO
    {
        $keeps = $this->statementsMax > 0 && !isset($this->options[\PDO::ATTR_STATEMENT_CLASS]);
        $pdo = $keeps
            ? new KeptPdo($this->dsn, $this->username, $this->password, $this->options)
            : new \PDO($this->dsn, $this->username, $this->password, $this->options);
        foreach ($this->initial as $statement) {
            $pdo->exec($statement);
        }
        if ($pdo instanceof KeptPdo) {
            $pdo->keep($this->statementsMax);
        }

        return $pdo;
    }

    public function healthy(object $resource): bool
    {
        $answer = @$resource->query('SELECT 1');

        return $answer !== false && $answer->fetchColumn() == 1;
    }

    public function reset(object $resource): bool
    {
        if ($resource instanceof KeptPdo) {
            $resource->endLease();
        }

        return !$resource->inTransaction() || $resource->rollBack();
    }

    public function broken(object $resource, \Throwable $failure): bool
    {
        // An exception of the application's own says nothing against the connection.
        return ($failure instanceof \PDOException || !$failure instanceof \Exception) && Failure::gone($failure);
    }

    public function close(object $resource): void
    {
        // PDO says good-bye when the last reference goes.
    }
}
