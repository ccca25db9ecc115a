<?php

declare(strict_types=1);

namespace Popup\State;

/**
 * What each user has been shown. All workers see the same; on several hosts with Redis.
 *
 * Invariant: of several requests of one user that found the same state, one changes it.
 */
interface States
{
    /**
     * @return array<int, int> configuration to the second it was last shown in, or Rules::CLICKED
     * @throws StatesException when it cannot be known now
     */
    public function seen(string $user): array;

    /**
     * Changes one entry if it still is what the caller saw.
     *
     * @param int|null $expected as seen() had it; null: not there
     * @param int|null $new null removes it
     * @return bool false: somebody else was faster
     * @throws StatesException when it cannot be changed now
     */
    public function change(string $user, int $configuration, ?int $expected, ?int $new): bool;

    /**
     * Adds what the database knows; of two times of showing the later one stays.
     *
     * @param array<int, int> $seen
     * @throws StatesException when it cannot be changed now
     */
    public function merge(string $user, array $seen): void;

    /** Whether a user without a state has never been shown anything; otherwise the database has to be asked. */
    public function isComplete(): bool;

    /**
     * Runs $load, which merges everybody, unless that has been done or another process is doing it.
     *
     * @param \Closure(): void $load
     */
    public function complete(\Closure $load): void;
}
