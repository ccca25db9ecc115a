<?php

/* What a program inherits that a request starts: the descriptors of that request, in whatever way it is started; and no lock of another. */

declare(strict_types=1);

/** The number of a stream's descriptor, as the system knows it. */
function number($stream): int
{
    $file = fstat($stream);
    foreach (scandir('/proc/self/fd') as $number) {
        $open = @stat("/proc/self/fd/$number");
        if ($open !== false && [$open['dev'], $open['ino']] === [$file['dev'], $file['ino']]) {
            return (int) $number;
        }
    }
    throw new LogicException('It is not open');
}

/** A command that says something into a descriptor. Other shells only know numbers of one digit. */
function say(string $what, int $to): string
{
    return "exec bash -c 'echo $what 2>/dev/null >&$to'";
}

function contents(mixed $stream): string
{
    rewind($stream);

    return stream_get_contents($stream);
}

return [
    'forks' => true,
    'prints' => static function (): void {
        $file = tmpfile();
        $to = number($file);
        // Each of the ways to start a program finds the file under its number.
        exec(say('exec', $to));
        shell_exec(say('shell_exec', $to));
        pclose(popen(say('popen', $to), 'w'));
        proc_close(proc_open(say('proc_open', $to), [], $pipes));
        $child = pcntl_fork();
        if ($child === 0) {
            pcntl_exec('/bin/sh', ['-c', say('pcntl_exec', $to)]);
        }
        pcntl_waitpid($child, $status);
        echo contents($file);
        // Sockets and pipes, too.
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        exec(say('over a socket', number($theirs)));
        echo fgets($ours);
        $server = stream_socket_server('tcp://127.0.0.1:0');
        $client = stream_socket_client('tcp://' . stream_socket_get_name($server, false));
        $accepted = stream_socket_accept($server);
        exec(say('over a connection', number($accepted)));
        echo fgets($client);
        // Closed, it is not there, whatever had its number.
        fclose($file);
        exec(say('gone', $to), $output, $code);
        var_dump($code !== 0);
        // Descriptors that proc_open() passes on, under numbers that are in use here and under such that are not.
        $file = tmpfile();
        $next = number($file) + 1;
        $after = $next + 1;
        $specification = [3 => ['pipe', 'w'], $next => ['pipe', 'w'], $after => ['pipe', 'w'], 100 => $file];
        $says = "echo three >&3; echo next >&$next; echo after >&$after; echo file >&100";
        $process = proc_open(['bash', '-c', $says], $specification, $pipes);
        echo fgets($pipes[3]), fgets($pipes[$next]), fgets($pipes[$after]);
        proc_close($process);
        echo contents($file);
        // The lock goes with the file: a program that has it holds the lock for as long as it runs.
        $locked = fopen($path = tempnam(sys_get_temp_dir(), 'inherit'), 'c');
        flock($locked, LOCK_EX);
        $holder = proc_open(['sleep', '600'], [], $pipes);
        fclose($locked);
        $again = fopen($path, 'c');
        var_dump(flock($again, LOCK_EX | LOCK_NB));
        proc_terminate($holder);
        proc_close($holder);
        var_dump(flock($again, LOCK_EX | LOCK_NB));
        unlink($path);
    },
    'seconds' => 1.0,
    'waits' => static function (int $n): string {
        // Half of the requests hold their locks while the others start programs, which run on when the locks are let go.
        $path = tempnam(sys_get_temp_dir(), 'inherit');
        $held = fopen($path, 'c');
        flock($held, LOCK_EX);
        usleep(500_000);
        fclose($held);
        $again = fopen($path, 'c');
        $locked = flock($again, LOCK_EX | LOCK_NB);
        unlink($path);
        $program = proc_open(['sleep', '0.5'], [], $pipes);
        proc_close($program);

        return $locked ? (string) $n : 'locked still';
    },
];
