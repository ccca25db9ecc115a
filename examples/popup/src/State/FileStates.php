<?php

declare(strict_types=1);

namespace Popup\State;

/**
 * Users' states in memory that the workers of this machine share: files of fixed slots, which live in the page cache.
 *
 * Files and flock, not a shared memory extension, because the kernel lets go of a dead worker's locks, and what a worker
 * wrote outlives it, and the master too. After a restart of the machine the files are made anew from the database. Must not
 * know: rules, operations. Invariant: a slot is changed under its stripe's lock only, in one write.
 */
final class FileStates implements States
{
    private const STRIPES = 16;

    /** Raised when the layout changes: older files are then made anew. */
    private const FORMAT = 'popup states 1';

    private const COMPLETE_CHECK_S = 0.5;

    /** @var array<int, resource> stripe to file */
    private array $files = [];

    /** @var array<int, bool> stripes a coroutine of this process is changing */
    private array $busy = [];

    private bool $complete = false;

    private float $checked_at = 0.0;

    private readonly int $buckets;

    /** @param int $users_max rounded up to the next power of two; beyond it the users unchanged for longest are forgotten */
    public function __construct(private readonly string $directory, int $users_max = 500_000)
    {
        // Half full on average, so that a page of 16 hardly ever overflows.
        $pages = (int) ceil((($users_max * 2 * Bucket::SLOT_BYTES) / Bucket::BYTES) / self::STRIPES);
        $this->buckets = 2 ** ((int) ceil(log(max(2, $pages), 2)));
        $this->begin();
    }

    public function seen(string $user): array
    {
        [$key, $stripe, $offset] = $this->locate($user);
        // Without the lock: code that acts on it calls change(), which looks again.
        $page = $this->read($stripe, $offset);
        $at = Bucket::find($page, $key);

        return $at === null ? [] : Bucket::entries($page, $at);
    }

    public function change(string $user, int $configuration, ?int $expected, ?int $new): bool
    {
        return $this->update($user, static function (array $seen) use ($configuration, $expected, $new): ?array {
            if (($seen[$configuration] ?? null) !== $expected) {
                return null;
            }
            if ($new === null) {
                unset($seen[$configuration]);
            } else {
                $seen[$configuration] = $new;
            }

            return $seen;
        });
    }

    public function merge(string $user, array $seen): void
    {
        $this->update($user, static function (array $known) use ($seen): array {
            foreach ($seen as $configuration => $shown) {
                $known[$configuration] = max($shown, $known[$configuration] ?? 0);
            }

            return $known;
        });
    }

    public function isComplete(): bool
    {
        $now = microtime(true);
        if ($now - $this->checked_at > self::COMPLETE_CHECK_S) {
            clearstatcache(true, "{$this->directory}/complete");
            $this->complete = is_file("{$this->directory}/complete");
            $this->checked_at = $now;
        }

        return $this->complete;
    }

    public function complete(\Closure $load): void
    {
        $lock = fopen("{$this->directory}/loading", 'cb');
        if ($this->isComplete() || $lock === false || !flock($lock, LOCK_EX | LOCK_NB)) {
            return;
        }
        $load();
        file_put_contents("{$this->directory}/complete", '');
        $this->complete = true;
        fclose($lock);
    }

    /** @param \Closure(array<int, int>): ?array<int, int> $change null: leave it as it is */
    private function update(string $user, \Closure $change): bool
    {
        [$key, $stripe, $offset] = $this->locate($user);
        // flock keeps other processes out; this, other coroutines of this one: they share the file's lock.
        while ($this->busy[$stripe] ?? false) {
            \Weft\Coroutine::yield();
        }
        $this->busy[$stripe] = true;
        $file = $this->file($stripe);
        try {
            if (!flock($file, LOCK_EX)) {
                throw new StatesException("Cannot lock {$this->directory}/$stripe");
            }
            $page = $this->read($stripe, $offset);
            $at = Bucket::find($page, $key);
            $new = $change($at === null ? [] : Bucket::entries($page, $at));
            if ($new === null) {
                return false;
            }
            if ($at === null) {
                [$at, $evicted] = Bucket::place($page);
                if ($evicted) {
                    @unlink("{$this->directory}/complete"); // from now on the database is asked about users without a state
                }
            }
            $this->write($stripe, $offset + $at, Bucket::slot($key, $new, time()));

            return true;
        } finally {
            flock($file, LOCK_UN);
            $this->busy[$stripe] = false;
        }
    }

    /** @return array{0: string, 1: int, 2: int} key, stripe, offset of the page */
    private function locate(string $user): array
    {
        $key = hash('xxh128', $user, true);
        $number = unpack('V', $key)[1];

        return [$key, $number % self::STRIPES, (intdiv($number, self::STRIPES) % $this->buckets) * Bucket::BYTES];
    }

    private function read(int $stripe, int $offset): string
    {
        $file = $this->files[$stripe] ?? $this->file($stripe);
        fseek($file, $offset);
        $page = fread($file, Bucket::BYTES);

        return $page === false || $page === '' ? str_repeat("\0", Bucket::BYTES) : str_pad($page, Bucket::BYTES, "\0");
    }

    private function write(int $stripe, int $offset, string $bytes): void
    {
        $file = $this->file($stripe);
        if (fseek($file, $offset) !== 0 || @fwrite($file, $bytes) !== strlen($bytes)) {
            throw new StatesException("Cannot write to {$this->directory}/$stripe: " . (error_get_last()['message'] ?? ''));
        }
    }

    /** @return resource */
    private function file(int $stripe)
    {
        if (!isset($this->files[$stripe])) {
            $file = @fopen("{$this->directory}/$stripe", 'c+b');
            if ($file === false) {
                throw new StatesException("Cannot open {$this->directory}/$stripe: " . (error_get_last()['message'] ?? ''));
            }
            stream_set_read_buffer($file, 0);
            stream_set_write_buffer($file, 0);
            $this->files[$stripe] = $file;
        }

        return $this->files[$stripe];
    }

    /** Makes the files anew if they are of another layout or from before the machine was started. */
    private function begin(): void
    {
        $lock = fopen("{$this->directory}/begin", 'cb');
        if ($lock === false || !flock($lock, LOCK_EX)) {
            throw new StatesException("Cannot lock {$this->directory}/begin");
        }
        $life = self::FORMAT . " {$this->buckets} " . trim((string) @file_get_contents('/proc/sys/kernel/random/boot_id'));
        if (@file_get_contents("{$this->directory}/life") !== $life) {
            @unlink("{$this->directory}/complete");
            for ($stripe = 0; $stripe < self::STRIPES; $stripe++) {
                @unlink("{$this->directory}/$stripe");
            }
            file_put_contents("{$this->directory}/life", $life);
        }
        fclose($lock);
    }
}
