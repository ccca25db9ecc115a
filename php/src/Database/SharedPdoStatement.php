<?php

declare(strict_types=1);

namespace Weft\Database;

/**
 * A statement of a SharedPdo. It is executed on whichever connection its coroutine gets, by a real statement from that
 * connection's cache. StatementResult reads what it returns.
 *
 * Invariant: what one user bound, set or left unread is never seen by the next user of the real statement.
 */
final class SharedPdoStatement extends StatementResult
{
    /** It is prepared once, and kept. */
    private const USUAL = 0;

    /** What is kept of this text has failed: it is prepared again. */
    private const ANEW = 1;

    /** Of query(): not prepared, not kept. */
    private const ONCE = 2;

    /** @var array<int|string, array{mixed, int}> */
    private $bound = [];

    /** @var array<array-key, mixed>|null the last parameters of execute(), which have replaced what was bound */
    private $given = null;

    /** @var StatementSettings|null null: only values were set */
    private $settings = null;

    /** @var array<array-key, mixed>|true|null PDO's errorInfo; true: none; null: not executed */
    private $error = null;

    /** @var int|array<int, mixed> options of prepare(): it is prepared with them each time */
    private $way = self::USUAL;

    /**
     * @internal SharedPdo makes these.
     * @param Leases $leases
     * @param array<int, mixed> $options of prepare()
     * @param bool $once whether it is of query()
     */
    public function __construct($leases, string $sql, array $options, bool $once)
    {
        $this->leases = $leases;
        $this->way = $once ? self::ONCE : ($options ?: self::USUAL);
        $this->tell($sql);
    }

    protected function executeAny(?array $params = null, int $attempt = 1): bool
    {
        if ($this->prepared !== null) {
            $this->end();
        }
        if ($params === null) {
            $params = $this->given;
        } else {
            $this->given = $params;
            $this->bound = [];
        }
        $leases = $this->leases;
        $this->session = $session = $leases->session();
        $this->error = null;
        $connection = $prepared = null;
        while ($connection === null) {
            $connection = $leases->lease($session);
            ++$session->holds;
            try {
                $prepared = $this->run($connection, $params);
                --$session->holds;
            } catch (\Throwable $failure) {
                --$session->holds;
                $this->tryAgain($failure, $attempt++);
                $connection = null;
            }
        }

        return $this->executed($connection, $prepared);
    }

    /** The first attempt, which was native, has thrown. */
    protected function executeFailed(\Throwable $failure, ?array $params): bool
    {
        $this->tryAgain($failure, 1);

        return $this->executeAny($params, 2);
    }

    /** It has returned false: PDO's silent error modes. */
    protected function noteRefusal(Prepared $prepared): void
    {
        $this->error = $prepared->statement->errorInfo();
    }

    /** What was bound by name or number becomes the real statement's. */
    protected function bindTo(Prepared $prepared): void
    {
        foreach ($this->bound as $name => [$value, $type]) {
            $prepared->statement->bindValue($name, $value, $type);
        }
    }

    /** The parameters of the last execute() are bound from now on, so that one of them can be replaced. */
    private function bindGiven(): void
    {
        foreach ($this->given ?? [] as $name => $value) {
            $this->bound[\is_string($name) ? \ltrim($name, ':') : $name + 1] = [$value, \PDO::PARAM_STR];
        }
        $this->given = null;
    }

    /** After it was executed on this connection; null: refused. */
    protected function executed(SharedConnection $connection, ?Prepared $prepared): bool
    {
        $session = $this->session;
        if ($prepared === null) {
            $error = \is_array($this->error) ? $this->error : $connection->pdo->errorInfo();
            $session->error = $this->error = $error;
            $this->leases->refused($session, $error);
            $this->leases->settle($session);

            return false;
        }
        $this->error = true;
        $this->begin($session, $connection, $prepared);

        return true;
    }

    /** Returns if it may be executed again on another connection. */
    private function tryAgain(\Throwable $failure, int $attempt): void
    {
        $session = $this->session;
        $again = $this->leases->failed($session, $failure, $this->queryString);
        if ($attempt === 1 && !$session->transaction && Failure::stale($failure)) {
            $this->way = $this->way === self::USUAL ? self::ANEW : $this->way;

            return;
        }
        if (!$again || $attempt > 1) {
            $this->error = $session->error ?? ['HY000', null, $failure->getMessage()];
            throw $failure;
        }
    }

    public function bindValue(int|string $param, mixed $value, int $type = \PDO::PARAM_STR): bool
    {
        $this->bindGiven();
        if ($type !== \PDO::PARAM_STR || \is_resource($value)) {
            $this->noteType($value, $type);
        }
        $this->bound[\is_string($param) ? \ltrim($param, ':') : $param] = [$value, $type];

        return true;
    }

    public function bindParam(
        int|string $param,
        mixed &$var,
        int $type = \PDO::PARAM_STR,
        int $maxLength = 0,
        mixed $driverOptions = null,
    ): bool {
        if ($type & \PDO::PARAM_INPUT_OUTPUT) {
            throw new \PDOException('Output parameters need the real connection: use SharedPdo::hold()');
        }
        $this->bindGiven();
        if ($type !== \PDO::PARAM_STR) {
            $this->noteType(0.5, $type); // nobody knows what it will be
        }
        $this->bound[\is_string($param) ? \ltrim($param, ':') : $param] = [&$var, $type];

        return true;
    }

    private function noteType(mixed $value, int $type): void
    {
        if (!StatementSettings::takes($value, $type)) {
            $this->settings ??= new StatementSettings();
            $this->settings->byClient = true;
        }
    }

    public function bindColumn(
        int|string $column,
        mixed &$var,
        int $type = \PDO::PARAM_STR,
        int $maxLength = 0,
        mixed $driverOptions = null,
    ): bool {
        $this->settings ??= new StatementSettings();
        $this->settings->columns[$column] = [&$var, $type, $maxLength, $driverOptions];
        if ($this->isOpen()) {
            $this->settings->bindColumns($this->prepared);
        }

        return true;
    }

    public function setFetchMode(int $mode, mixed ...$args): true
    {
        $this->settings ??= new StatementSettings();
        $this->settings->fetchMode = [$mode, $args];
        if ($this->isOpen()) {
            $this->prepared->fetchModeSet = true;
            $this->prepared->statement->setFetchMode($mode, ...$args);
        }

        return true;
    }

    public function setAttribute(int $attribute, mixed $value): bool
    {
        $this->settings ??= new StatementSettings();
        $this->settings->attributes[$attribute] = $value;

        return true;
    }

    public function getAttribute(int $name): mixed
    {
        if (isset($this->settings->attributes[$name])) {
            return $this->settings->attributes[$name];
        }

        return $this->isOpen() ? $this->prepared->statement->getAttribute($name) : false;
    }

    public function errorCode(): ?string
    {
        return \is_array($this->error) ? (string) $this->error[0] : ($this->error ? '00000' : null);
    }

    public function errorInfo(): array
    {
        // @mago-expect analysis:invalid-return-statement -- without an error PDO gives nulls
        return \is_array($this->error) ? $this->error : [$this->error ? '00000' : '', null, null];
    }

    public function debugDumpParams(): ?bool
    {
        \printf("SQL: [%d] %s\nParams:  %d\n", \strlen($this->queryString), $this->queryString, \count($this->given ?? $this->bound));

        return null;
    }

    /**
     * Executes on this connection. null: refused, in PDO's silent error modes.
     *
     * @param SharedConnection $connection
     * @param array<array-key, mixed>|null $params
     * @return Prepared|null
     */
    private function run($connection, $params)
    {
        $settings = $this->settings;
        if ($this->way === self::ONCE) {
            $prepared = $connection->query($this->queryString);
            if ($prepared !== null && $settings !== null && ($settings->fetchMode !== null || $settings->columns !== [])) {
                $settings->apply($connection, $prepared);
            }

            return $prepared;
        }
        $sql = $this->queryString;
        [$way, $options] = \is_array($this->way) ? [self::ANEW, $this->way] : [$this->way, []];
        $cached = $options === [] && ($settings === null || !$settings->byClient || $connection->serverSide === null);
        $prepared = $cached && $way === self::USUAL ? $connection->take($sql) : $connection->prepare($sql, $options);
        if ($options === []) {
            $this->way = self::USUAL;
        }
        $count = \count($params ?? $this->bound);
        if ($prepared !== null && $prepared->bound > $count) {
            $prepared = $connection->prepare($sql, $options);
        }
        if ($prepared === null) {
            return null;
        }
        $prepared->bound = $count;
        if (!$cached) {
            $prepared->disposable = true;
        }
        if ($params === null) {
            $this->bindTo($prepared);
        }
        if ($settings !== null || $prepared->fetchModeSet) {
            ($settings ?? new StatementSettings())->apply($connection, $prepared);
        }
        if ($prepared->statement->execute($params)) {
            if ($cached) {
                $connection->look($prepared);
            }

            return $prepared;
        }
        $this->noteRefusal($prepared);

        return null;
    }
}
