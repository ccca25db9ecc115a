<?php

declare(strict_types=1);

namespace Weft\Queue;

/**
 * @internal One append-only file of a FileQueue.
 *
 * The process that holds the flock owns it: the one that writes it, or one that found it without an owner. The kernel
 * releases the lock when the owner dies, however it dies. Frame: length and CRC-32 of the rest (two 32-bit words), time of
 * appending in microseconds (64 bits), record; all little-endian. Invariant: what follows the last whole frame was never
 * confirmed to a caller.
 */
final class Segment
{
    private const HEAD_BYTES = 16;

    /** Bytes of whole frames. */
    public int $bytes = 0;

    /** Records delivered or to be delivered, and not acknowledged. */
    public int $unacknowledged = 0;

    /** A flush is under way: the file may not be emptied. */
    public bool $flushing = false;

    /** @param resource $handle */
    private function __construct(public readonly string $path, private $handle) {}

    /** A new, empty file. It gets its name once it is locked, so that no process takes it for one without an owner. */
    public static function create(string $directory): self
    {
        $path = sprintf('%s/%d-%d-%s.log', $directory, hrtime(true), getmypid(), bin2hex(random_bytes(4)));
        $handle = @fopen("$path.new", 'xb');
        if ($handle === false || !flock($handle, LOCK_EX | LOCK_NB) || !@rename("$path.new", $path)) {
            throw new QueueException("Cannot make a queue segment $path: " . self::reason());
        }
        // PHP's first sync turns the file into one of C's standard I/O, which has a buffer of its own: without this order, a
        // write that fails would be taken for done.
        fdatasync($handle);
        stream_set_write_buffer($handle, 0);
        $parent = @fopen($directory, 'r'); // the file's name is durable when its directory is
        if ($parent !== false) {
            @fsync($parent);
        }

        return new self($path, $handle);
    }

    /** Takes over a file that has no owner; null if it has one, or is gone. */
    public static function adopt(string $path): ?self
    {
        $handle = @fopen($path, 'r+b');
        if ($handle === false || !flock($handle, LOCK_EX | LOCK_NB) || (fstat($handle)['nlink'] ?? 0) === 0) {
            return null;
        }

        return new self($path, $handle);
    }

    public static function frame(string $record): string
    {
        $rest = pack('P', (int) (microtime(true) * 1e6)) . $record;

        return pack('VV', strlen($rest), crc32($rest)) . $rest;
    }

    /**
     * Appends frames and makes them durable.
     *
     * @throws QueueException when it could not; the file is as before, or closed if that is not certain
     */
    public function append(string $frames): void
    {
        $written = @fwrite($this->handle, $frames);
        if ($written !== strlen($frames)) {
            $reason = self::reason();
            if (!ftruncate($this->handle, $this->bytes) || fseek($this->handle, $this->bytes) !== 0) {
                $this->close();
            }
            throw new QueueException("Cannot write to the queue segment {$this->path}: $reason");
        }
        $this->bytes += strlen($frames);
        $durable = false;
        try {
            $durable = @fdatasync($this->handle);
        } finally {
            if (!$durable) {
                $this->close(); // what the disk has cannot be known: the next owner reads it
            }
        }
        if (!$durable) {
            throw new QueueException("Cannot sync the queue segment {$this->path}: " . self::reason());
        }
    }

    /**
     * Reads all whole frames.
     *
     * @return list<Message>
     */
    public function read(): array
    {
        rewind($this->handle);
        $text = (string) stream_get_contents($this->handle);
        $messages = [];
        for ($at = 0, $end = strlen($text); $at + self::HEAD_BYTES <= $end; $at += 8 + $length) {
            /** @var array{l: int, c: int} $head */
            $head = unpack('Vl/Vc', $text, $at);
            ['l' => $length, 'c' => $sum] = $head;
            if ($length < 8 || $at + 8 + $length > $end || crc32(substr($text, $at + 8, $length)) !== $sum) {
                break;
            }
            $appended = unpack('P', $text, $at + 8)[1] / 1e6;
            $messages[] = new Message(substr($text, $at + self::HEAD_BYTES, $length - 8), $appended, $this);
        }
        $this->bytes = $at;
        $this->unacknowledged = count($messages);
        if ($at < $end) {
            // A process that dies while it writes leaves the beginning of a frame. Anything else deserves a look.
            file_put_contents("{$this->path}.rest", substr($text, $at));
            error_log(sprintf('%s: the last %d bytes are no whole record; they are kept in %1$s.rest', $this->path, $end - $at));
        }

        return $messages;
    }

    /** Begins anew: everything in it has been acknowledged. */
    public function clear(): void
    {
        if (ftruncate($this->handle, 0) && rewind($this->handle)) {
            $this->bytes = 0;
        }
    }

    /** Removes the file: everything in it has been acknowledged. */
    public function remove(): void
    {
        @unlink($this->path);
        $this->close();
    }

    public function isOpen(): bool
    {
        return is_resource($this->handle);
    }

    /** Gives the file up; the next process that looks finds what is in it. */
    public function close(): void
    {
        if (is_resource($this->handle)) {
            fclose($this->handle);
        }
    }

    private static function reason(): string
    {
        return error_get_last()['message'] ?? 'no reason given';
    }
}
