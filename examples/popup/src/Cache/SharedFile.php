<?php

declare(strict_types=1);

namespace Popup\Cache;

/**
 * The last known configurations in a file, for all workers of this machine and for the next start.
 *
 * Invariant: the file is replaced in one step, so a reader gets one whole version.
 */
final class SharedFile
{
    private string $seen = '';

    public function __construct(private readonly string $path) {}

    /** What is in it, if it has been replaced since this process read or wrote it last. */
    public function changed(): ?Snapshot
    {
        clearstatcache(true, $this->path);
        $stat = @stat($this->path);
        // A replacement is another file: its inode or its time differs.
        $mark = $stat === false ? '' : "{$stat['ino']} {$stat['mtime']} {$stat['ctime']} {$stat['size']}";
        if ($mark === $this->seen) {
            return null;
        }
        $text = @file_get_contents($this->path);
        /** @var array{version: int, rows: list<array<string, mixed>>, loaded_at: float}|null $stored */
        $stored = $text === false ? null : json_decode($text, true);
        $this->seen = $mark;

        return is_array($stored) ? Snapshot::of($stored, $stored['loaded_at']) : null;
    }

    /** @param array{version: int, rows: list<array<string, mixed>>} $live */
    public function replace(array $live, float $loaded_at): void
    {
        $new = "{$this->path}." . bin2hex(random_bytes(4));
        $text = json_encode($live + ['loaded_at' => $loaded_at], JSON_THROW_ON_ERROR);
        // Without it the workers still have what is in their memory.
        if (@file_put_contents($new, $text) !== strlen($text) || !@rename($new, $this->path)) {
            @unlink($new);
            error_log("popup: cannot write {$this->path}; other workers learn of changes only from the database");
        }
    }

    /**
     * Runs $work unless another process does so now.
     *
     * @param \Closure(): void $work
     */
    public function alone(\Closure $work): void
    {
        $lock = fopen("{$this->path}.lock", 'cb');
        if ($lock === false || !flock($lock, LOCK_EX)) {
            throw new \RuntimeException("Cannot lock {$this->path}.lock");
        }
        try {
            $work();
        } finally {
            fclose($lock);
        }
    }
}
