<?php

declare(strict_types=1);

namespace Popup\Cache;

use Popup\Background;
use Popup\Clock;
use Popup\Storage\Configurations;
use Weft\Task;

/**
 * The configurations in this worker's memory, kept up to date.
 *
 * Three places: a property (every request), a file (all workers of the machine, read when it changes), the database (one
 * process at a time asks it: when something was changed, and now and then). Invariant: once anything is known, a
 * database that is cold, slow or away costs requests nothing but the age of what they get.
 */
final class ConfigurationCache
{
    /** How soon a worker sees that the file has changed: a change reaches all within a second. */
    private const LOOK_S = 0.25;

    /** The database is asked again after this time even if no change was announced. */
    private const REFRESH_S = 2.0;

    /** Of this age or older: the database does not answer. */
    private const STALE_S = 5.0;

    private ?Snapshot $snapshot = null;

    /** The newest version that was announced. */
    private int $wanted = 0;

    private ?Task $loading = null;

    private ?string $failure = null;

    /** Seconds since the database gave them, when they are older than they should be; looked at now and then. */
    private ?int $stale_s = null;

    public function __construct(
        private readonly Configurations $configurations,
        private readonly SharedFile $file,
        private readonly Clock $clock,
        private readonly bool $enabled,
    ) {}

    /**
     * The configurations, as new as can be had at once.
     *
     * @throws NothingKnown only if none were ever known and the database is away
     */
    public function current(): Snapshot
    {
        if (!$this->enabled) {
            return Snapshot::of($this->configurations->live($this->clock->now()), microtime(true));
        }
        if ($this->snapshot === null) {
            $this->load();
        }

        return $this->snapshot ?? throw new NothingKnown($this->failure ?? 'No configurations are known yet');
    }

    /** Takes over what is known on this machine; starts the coroutine that keeps it up to date. At boot. */
    public function start(): void
    {
        $this->snapshot = $this->file->changed();
        Background::every(self::LOOK_S, 'looking for changed configurations', $this->look(...));
    }

    /** Takes note that there is this version now. After this call current() has it. */
    public function invalidate(int $version): void
    {
        $this->wanted = max($this->wanted, $version);
        if ($this->enabled) {
            $this->load();
        }
    }

    /** Why the database could not be asked; null when all is well. */
    public function failure(): ?string
    {
        return $this->failure;
    }

    /** How many seconds old they are, if that is more than a database that answers would let them be. */
    public function stale(): ?int
    {
        return $this->stale_s;
    }

    /** Seconds since the database gave them; null if it never did. */
    public function age(): ?float
    {
        return $this->snapshot === null ? null : microtime(true) - $this->snapshot->loaded_at;
    }

    private function look(): void
    {
        $this->take($this->file->changed());
        $age = $this->age() ?? 0.0;
        $this->stale_s = $age < self::STALE_S ? null : (int) $age;
        if (!$this->isFresh()) {
            $this->load(); // what goes wrong is in $failure; with the next look it is tried again
        }
    }

    private function isFresh(): bool
    {
        return $this->snapshot !== null && $this->snapshot->version >= $this->wanted && ($this->age() ?? INF) < self::REFRESH_S;
    }

    /** Asks the database, once for all coroutines that want it and one process at a time. */
    private function load(): void
    {
        $this->loading ??= \Weft\go(function (): void {
            try {
                $this->file->alone(function (): void {
                    $this->take($this->file->changed()); // another process may have been faster
                    if (!$this->isFresh()) {
                        $at = microtime(true);
                        $live = $this->configurations->live($this->clock->now());
                        $this->take(Snapshot::of($live, $at));
                        $this->file->replace($live, $at);
                    }
                });
                $this->failure = null;
            } catch (\Throwable $error) {
                $this->failure = $error->getMessage();
            } finally {
                $this->loading = null;
            }
        });
        $this->loading->await();
    }

    private function take(?Snapshot $snapshot): void
    {
        if ($snapshot !== null && $snapshot->loaded_at >= ($this->snapshot->loaded_at ?? 0.0)) {
            $this->snapshot = $snapshot;
            $this->failure = null;
        }
    }
}
