<?php

/* pcntl_waitpid(), pcntl_wait(), pcntl_waitpid() for a group, WNOHANG, stopped children. */

declare(strict_types=1);

/**
 * Forks a child that ends after some milliseconds like an ordinary process: it shuts down nothing of this process. It
 * stops first if told to.
 */
function child(int $milliseconds, int $code, bool $stops = false): int
{
    $pid = pcntl_fork();
    if ($pid === 0) {
        $stops && posix_kill(getmypid(), SIGSTOP);
        usleep($milliseconds * 1000);
        pcntl_exec('/bin/sh', ['-c', "exit $code"]);
    }

    return $pid;
}

/** A child that has stopped: it ends some milliseconds after it is continued, and not before. */
function stopped(int $code): int
{
    $pid = child(30, $code, stops: true);
    pcntl_waitpid($pid, $status, WUNTRACED);

    return $pid;
}

return [
    'forks' => true,
    'prints' => static function (): void {
        $pid = stopped(3);
        var_dump(pcntl_waitpid($pid, $status, WNOHANG));
        posix_kill($pid, SIGCONT);
        var_dump(pcntl_waitpid($pid, $status) === $pid, pcntl_wexitstatus($status));
        var_dump(pcntl_waitpid($pid, $status), pcntl_get_last_error() === PCNTL_ECHILD);
        $pid = child(20_000, 0);
        posix_kill($pid, SIGSTOP);
        var_dump(pcntl_waitpid($pid, $status, WUNTRACED) === $pid, pcntl_wifstopped($status));
        posix_kill($pid, SIGKILL);
        var_dump(pcntl_waitpid($pid, $status) === $pid, pcntl_wifsignaled($status), pcntl_wtermsig($status));
        $pid = stopped(4);
        posix_setpgid($pid, $pid);
        posix_kill($pid, SIGCONT);
        var_dump(pcntl_waitpid(-$pid, $status) === $pid, pcntl_wexitstatus($status));
    },
    'seconds' => 1.0,
    'waits' => static function (int $n): string {
        $pid = child(1000, $n);
        pcntl_waitpid($pid, $status);

        return (string) pcntl_wexitstatus($status);
    },
];
