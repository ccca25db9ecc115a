<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Coroutine;
use Weft\Internal\Coroutines;
use Weft\Pool\Slots;
use Weft\Pool\Waiters;

use function Weft\defer;

/**
 * Which coroutine has which connection of a SharedPdo, and for how long: for a statement until its result is read, for a
 * transaction until its end, or until the coroutine's own end once it has changed the session.
 *
 * It must not know which statement is executed how. Invariants: a connection is used by one coroutine at a time; none goes
 * back to the pool with a transaction or a result open.
 *
 * @internal
 */
final class Leases extends QuickLeases
{
    /** While others wait, a coroutine keeps its connection for at most so many statements in a row. */
    private const STREAK_MAX = 8;

    /** @var array<int, Session> by coroutine */
    private $sessions = [];

    /** @var Waiters */
    private $waiters;

    /** @var Session|null of a coroutine that has ended, for the next one; only native code looks here */
    private $spare = null;

    private readonly Loose $loose;

    private readonly \Closure $leave;

    /** @var array<int, mixed> set by setAttribute(), for every connection */
    private array $attributes = [];

    /** @var int */
    private $attributesVersion = 0;

    /** @var bool */
    private $inCoroutines;

    /** @var int the number of the last result */
    public $tickets = 0;

    /** @var Slots<SharedConnection> */
    private $slots;

    /** @param Slots<SharedConnection> $slots */
    public function __construct(Slots $slots)
    {
        $this->slots = $slots;
        $this->waiters = $slots->waiters;
        $this->loose = new Loose($slots);
        $this->leave = $this->leave(...);
        $this->inCoroutines = Coroutines::exist();
    }

    /** The session of the running coroutine. @return Session */
    public function session()
    {
        $coroutine = $this->inCoroutines ? Coroutine::id() : 0;

        return $this->sessions[$coroutine] ?? $this->enter($coroutine);
    }

    /**
     * The connection of this session, which settle() or failed() takes back.
     *
     * @param Session $session
     * @return SharedConnection
     */
    public function lease($session)
    {
        if ($session->lost) {
            throw new \PDOException('The connection was lost inside this transaction, so the server has rolled it back:'
            . ' call rollBack(), then begin again');
        }
        $session->loose = false;
        $slot = $session->slot ??= $this->slots->take();
        $connection = $slot->resource;
        if ($connection->attributesVersion !== $this->attributesVersion) {
            $connection->apply($this->attributes, $this->attributesVersion);
        }

        return $connection;
    }

    /** After each call: returns the connection unless something still needs it. @param Session $session */
    public function settle($session)
    {
        $slot = $session->slot;
        if ($slot === null) {
            return;
        }
        $session->transaction = $slot->resource->pdo->inTransaction();
        if ($session->cursor !== null || $session->cursors !== [] || $session->transaction || $session->holds !== 0 || $session->changed) {
            return;
        }
        if ($this->waiters->count > 0 && ++$session->streak < self::STREAK_MAX) {
            $this->loose->add($session);

            return;
        }
        $session->streak = 0;
        $session->slot = null;
        $this->slots->give($slot);
    }

    /**
     * After a call that has thrown: discards the connection if it may be broken.
     *
     * @return bool whether the statement may be tried again
     */
    public function failed(Session $session, \Throwable $failure, string $sql): bool
    {
        $session->used = true;
        $session->error = $failure instanceof \PDOException ? $failure->errorInfo ?? [$failure->getCode(), null, null] : null;
        $interrupted = Coroutines::interrupted($failure);
        if ($session->slot === null) {
            return false;
        }
        if (!$interrupted && !Failure::gone($failure)) {
            $this->settle($session);

            return false;
        }
        $alone =
            $session->cursor === null && $session->cursors === [] && $session->holds === 0 && !$session->transaction && !$session->changed;
        $this->drop($session);
        if (!$interrupted) {
            $this->slots->distrust();
        }

        return $alone && !$interrupted && $failure instanceof \PDOException && Failure::repeatable($failure, $sql);
    }

    /**
     * After a call that has returned false, as in PDO's silent error modes.
     *
     * @param array<array-key, mixed> $error PDO's errorInfo
     */
    public function refused(Session $session, array $error): void
    {
        $failure = new \PDOException((string) ($error[2] ?? ''));
        $failure->errorInfo = $error;
        $session->used = true;
        $session->error = $error;
        if (Failure::gone($failure)) {
            $this->drop($session);
            $this->slots->distrust();
        }
    }

    /**
     * A result has been read, or is no longer wanted.
     *
     * @param Session $session
     * @param Prepared $prepared
     */
    public function endCursor($session, $prepared)
    {
        if ($session->cursor === $prepared) {
            $session->cursor = null;
        } else {
            unset($session->cursors[$prepared->ticket]);
        }
        $prepared->statement->closeCursor();
        $prepared->ticket = 0; // if that has failed, nobody executes it again
        $session->slot?->resource->keep($prepared);
    }

    /** Discards the connection of a session, and with it what was open on it. */
    public function drop(Session $session): void
    {
        if ($session->cursor !== null) {
            $session->cursor->ticket = 0;
            $session->cursor = null;
        }
        foreach ($session->cursors as $prepared) {
            $prepared->ticket = 0;
        }
        $session->cursors = [];
        $session->lost = $session->transaction;
        $session->transaction = false;
        $session->changed = false;
        if ($session->slot !== null) {
            $slot = $session->slot;
            $session->slot = null;
            $this->slots->discard($slot);
        }
    }

    /** Each connection gets this attribute before it is used next. */
    public function setAttribute(int $attribute, mixed $value): void
    {
        $this->attributes[$attribute] = $value;
        ++$this->attributesVersion;
    }

    /** A session for a coroutine that has none. @return Session */
    public function enter(int $coroutine)
    {
        if ($coroutine !== 0) {
            defer($this->leave);
        }

        return $this->sessions[$coroutine] = new Session();
    }

    /** Runs when a coroutine ends: what it left open is undone, and its connection returned. */
    protected function leaveAny(): void
    {
        $coroutine = Coroutine::id();
        $session = $this->sessions[$coroutine] ?? null;
        unset($this->sessions[$coroutine]);
        $connection = $session?->slot?->resource;
        if ($session === null || $connection === null) {
            return;
        }
        try {
            if ($session->cursor !== null) {
                $this->endCursor($session, $session->cursor);
            }
            foreach ($session->cursors as $prepared) {
                $this->endCursor($session, $prepared);
            }
            if ($connection->pdo->inTransaction()) {
                $connection->pdo->rollBack();
            }
            $session->holds = 0;
            $session->streak = self::STREAK_MAX;
            $changed = $session->changed;
            $session->changed = false;
            $changed ? $this->drop($session) : $this->settle($session);
        } catch (\Throwable) {
            $this->drop($session); // the coroutine cannot be told any more, and the connection is closed
        }
    }
}
