<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\ProcessFailed;

/**
 * A forked helper process. It returns its result in one frame over a socket pair: a letter for the kind, the length in 8
 * bytes, the payload.
 *
 * Invariant: the helper never comes back from run(). It ends by SIGKILL, because every other way runs destructors, which
 * would write to connections that it shares with its parent.
 *
 * @internal
 */
final class Helper
{
    /** The largest result, serialized. */
    private const RESULT_BYTES_MAX = 1 << 30;

    private const RETURNED = 'r';
    private const THREW = 't';
    private const FAILED = 'f';

    /** Long enough for a stream to count as waiting for ever. */
    private const YEAR_SECONDS = 31_536_000;

    /** @param resource $stream this process's end */
    private function __construct(private readonly int $pid, private $stream) {}

    /** How many processors this process may use, at least 1. */
    public static function cores(): int
    {
        $status = (string) @file_get_contents('/proc/self/status');
        $cores = 0;
        if (preg_match('/^Cpus_allowed_list:\s*(\S+)/m', $status, $match) === 1) {
            foreach (explode(',', $match[1]) as $range) {
                [$first, $last] = explode('-', "$range-$range");
                $cores += (int) $last - (int) $first + 1;
            }
        }

        return max(1, $cores);
    }

    /** Calls $work in a helper. The running coroutine waits for the result. */
    public static function run(\Closure $work): mixed
    {
        if (!function_exists('pcntl_fork') || !function_exists('posix_kill')) {
            throw new \LogicException('Process::run() needs the extensions pcntl and posix');
        }
        $pair = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        $self = posix_getpid();
        $pid = $pair === false ? -1 : pcntl_fork();
        if ($pair === false || $pid < 0) {
            throw new ProcessFailed('The helper process could not be started: ' . (error_get_last()['message'] ?? 'unknown'));
        }
        [$parent, $helper] = $pair;
        if ($pid === 0) {
            end_with_parent($self);
            fclose($parent);
            self::inHelper($work, $helper);
        }
        fclose($helper);

        return (new self($pid, $parent))->result();
    }

    private function result(): mixed
    {
        $status = null;
        try {
            stream_set_timeout($this->stream, self::YEAR_SECONDS);
            stream_set_chunk_size($this->stream, 1 << 16);
            $head = $this->read(9);
            $kind = $head === null ? null : $head[0];
            $payload = $head === null ? null : $this->read((int) (unpack('J', $head, 1)[1] ?? 0));
        } finally {
            posix_kill($this->pid, SIGKILL);
            fclose($this->stream);
            pcntl_waitpid($this->pid, $status);
        }

        if ($payload === null) {
            throw new ProcessFailed('The helper process ended without a result: ' . self::cause((int) $status));
        }
        $result = $kind === self::FAILED ? new ProcessFailed($payload) : unserialize($payload);
        if ($kind !== self::RETURNED && $result instanceof \Throwable) {
            throw $result;
        }

        return $result;
    }

    /** Reads exactly so many bytes; null when the other end is closed. */
    private function read(int $length): ?string
    {
        $bytes = '';
        while (strlen($bytes) < $length) {
            $more = fread($this->stream, min($length - strlen($bytes), 1 << 20));
            if ($more === false || ($more === '' && feof($this->stream))) {
                return null;
            }
            $bytes .= $more;
        }

        return $bytes;
    }

    private static function cause(int $status): string
    {
        if (!pcntl_wifsignaled($status)) {
            return 'it exited with status ' . (int) pcntl_wexitstatus($status);
        }
        $signal = (int) pcntl_wtermsig($status);
        $names = [SIGSEGV => 'SIGSEGV, a crash', SIGABRT => 'SIGABRT, a crash', SIGKILL => 'SIGKILL, perhaps out of memory'];

        return "it was ended by signal $signal" . (isset($names[$signal]) ? " ({$names[$signal]})" : '');
    }

    /**
     * The helper's whole life.
     *
     * @param resource $stream
     */
    private static function inHelper(\Closure $work, $stream): never
    {
        // The parent's garbage stays: the helper must not run its destructors.
        gc_disable();
        mt_srand();
        // exit() frees this function's variables; a fatal error only runs shutdown functions.
        $leave = new Seat(static fn () => self::leave($stream));
        register_shutdown_function($leave->giveUp(...));
        try {
            [$kind, $payload] = [self::RETURNED, self::serialized($work(), 'Its result')];
        } catch (\Throwable $thrown) {
            [$kind, $payload] = self::thrown($thrown);
        }
        self::end($stream, $kind, $payload);
    }

    /**
     * The work has not returned: it called exit(), or met a fatal error.
     *
     * @param resource $stream
     */
    private static function leave($stream): never
    {
        $error = error_get_last();
        $fatal = $error !== null && ($error['type'] & (E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_PARSE)) !== 0;
        self::end(
            $stream,
            self::FAILED,
            $fatal
                ? "A fatal error ended the helper process: {$error['message']} in {$error['file']}:{$error['line']}"
                : 'The helper process called exit(): return a value instead',
        );
    }

    /** @return array{string, string} kind and payload */
    private static function thrown(\Throwable $thrown): array
    {
        try {
            for ($each = $thrown; $each !== null; $each = $each->getPrevious()) {
                self::forgetArguments($each);
            }

            return [self::THREW, serialize($thrown)];
        } catch (\Throwable) {
            return [self::FAILED, "The helper process threw what cannot be passed between processes: $thrown"];
        }
    }

    /** The arguments in a stack trace are often what cannot be serialized. */
    private static function forgetArguments(\Throwable $thrown): void
    {
        $class = $thrown instanceof \Error ? \Error::class : \Exception::class;
        $trace = array_map(static fn (array $frame) => array_diff_key($frame, ['args' => 0]), $thrown->getTrace());
        (new \ReflectionProperty($class, 'trace'))->setValue($thrown, $trace);
    }

    private static function serialized(mixed $value, string $what): string
    {
        try {
            $bytes = serialize($value);
        } catch (\Throwable $failure) {
            throw new ProcessFailed("$what cannot be passed between processes: {$failure->getMessage()}");
        }
        if (strlen($bytes) > self::RESULT_BYTES_MAX) {
            throw new ProcessFailed("$what is too large: " . strlen($bytes) . ' bytes of ' . self::RESULT_BYTES_MAX);
        }

        return $bytes;
    }

    /** @param resource $stream */
    private static function end($stream, string $kind, string $payload): never
    {
        $frame = $kind . pack('J', strlen($payload)) . $payload;
        for ($sent = 0; $sent < strlen($frame); $sent += $wrote) {
            $wrote = (int) fwrite($stream, $sent === 0 ? $frame : substr($frame, $sent));
            if ($wrote === 0) {
                break; // the parent has stopped listening
            }
        }
        posix_kill(posix_getpid(), SIGKILL);
        exit(1); // never reached: SIGKILL cannot be waited for
    }
}
