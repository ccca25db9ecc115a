<?php

/* What a program inherits from the request that starts it: that request's descriptors, whichever function starts it,
 * and no lock of another request. */

declare(strict_types=1);

/** The system's number of a stream's descriptor. */
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

/** A command that writes to a descriptor. Some shells accept only one-digit numbers. */
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
        // Whichever function starts the program, it finds the file under its number.
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
        // Sockets and pipes are inherited, too.
        [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        exec(say('over a socket', number($theirs)));
        echo fgets($ours);
        $server = stream_socket_server('tcp://127.0.0.1:0');
        $client = stream_socket_client('tcp://' . stream_socket_get_name($server, false));
        $accepted = stream_socket_accept($server);
        exec(say('over a connection', number($accepted)));
        echo fgets($client);
        // Once closed, it is missing, whatever had its number. A shell that redirects may use the number itself.
        fclose($file);
        exec("test -e /proc/$$/fd/$to", $output, $code);
        var_dump($code !== 0);
        // Descriptors that proc_open() passes on, under numbers that are in use here and under free ones. They are in use
        // by open files, because PHP loses a pipe if its number for the program is that of another pipe's end.
        $file = tmpfile();
        $files = [tmpfile(), tmpfile()];
        [$next, $after] = array_map(number(...), $files);
        $specification = [3 => ['pipe', 'w'], $next => ['pipe', 'w'], $after => ['pipe', 'w'], 100 => $file];
        $says = "echo three >&3; echo next >&$next; echo after >&$after; echo file >&100";
        $process = proc_open(['bash', '-c', $says], $specification, $pipes);
        echo fgets($pipes[3]), fgets($pipes[$next]), fgets($pipes[$after]);
        proc_close($process);
        echo contents($file);
        // The lock belongs to the open file: a program that inherits the file holds the lock for as long as it
        // runs.
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
        // Half of the requests hold their locks while the others start programs, which still run when the locks are
        // released.
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
