<?php

declare(strict_types=1);

namespace Weft\Database;

use Weft\Pool\Slots;

use function Weft\go;

/**
 * Connections that coroutines keep for a moment although nothing needs them and others wait.
 *
 * The next statement of the same request may follow at once, and queueing for a connection costs a switch each time. So a
 * coroutine keeps its connection; a millisecond later a task hands on what is not in use again.
 *
 * @internal
 */
final class Loose
{
    /** So late the task looks. Statements that follow each other need no task of their own then. */
    private const LATER_US = 1_000;

    /** @var list<Session> */
    private array $sessions = [];

    private readonly \Closure $collectLater;

    /** @param Slots<SharedConnection> $slots */
    public function __construct(private readonly Slots $slots)
    {
        $this->collectLater = $this->collectLater(...);
    }

    public function add(Session $session): void
    {
        $session->loose = true;
        $this->sessions[] = $session;
        if (\count($this->sessions) > 1) {
            return;
        }
        try {
            go($this->collectLater);
        } catch (\Error) {
            $this->collect(); // there are tasks_max tasks already
        }
    }

    private function collectLater(): void
    {
        try {
            \usleep(self::LATER_US);
        } finally {
            $this->collect(); // also if the task is cancelled: no other one begins while these are listed
        }
    }

    private function collect(): void
    {
        $sessions = $this->sessions;
        $this->sessions = [];
        foreach ($sessions as $session) {
            if ($session->loose && $session->slot !== null) {
                $slot = $session->slot;
                $session->slot = null;
                $session->loose = false;
                $session->streak = 0;
                $this->slots->give($slot);
            }
        }
    }
}
