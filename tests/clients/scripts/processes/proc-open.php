<?php

/* proc_open(): pipes in both directions, also with much data; proc_close(), proc_terminate(), popen() and
 * pclose(). */

declare(strict_types=1);

return [
    'forks' => true,
    'prints' => static function (): void {
        $process = proc_open(['cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
        fwrite($pipes[0], 'through a pipe');
        fclose($pipes[0]);
        var_dump(stream_get_contents($pipes[1]), proc_close($process));
        $process = proc_open('sleep 0.02; echo error >&2; exit 5', [2 => ['pipe', 'w']], $pipes);
        var_dump(fgets($pipes[2]), proc_close($process));
        // More than a pipe holds, while the other end reads slowly.
        $process = proc_open('sleep 0.02; wc -c', [['pipe', 'r'], ['pipe', 'w']], $pipes);
        var_dump(fwrite($pipes[0], str_repeat('x', 1_000_000)));
        fclose($pipes[0]);
        var_dump((int) fgets($pipes[1]), proc_close($process));
        $process = proc_open(['sleep', '20'], [], $pipes);
        proc_terminate($process);
        var_dump(proc_close($process));
        $reader = popen('sleep 0.02; echo popen; exit 6', 'r');
        var_dump(fgets($reader), feof($reader), fgets($reader), feof($reader), pclose($reader));
        $writer = popen('sleep 0.02; cat >/dev/null; exit 7', 'w');
        var_dump(fwrite($writer, str_repeat('y', 300_000)), pclose($writer));
        $process = proc_open(['cat'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
        stream_set_blocking($pipes[1], false);
        var_dump(fread($pipes[1], 10));
        $read = [$pipes[1]];
        $write = $except = null;
        fwrite($pipes[0], 'now');
        var_dump(stream_select($read, $write, $except, 5), fread($pipes[1], 10));
        fclose($pipes[0]);
        var_dump(proc_close($process));
    },
    'waits' => static function (int $n): string {
        if ($n % 2) {
            $reader = popen("sleep 0.5; echo $n", 'r');
            $line = trim(fgets($reader));
            pclose($reader);

            return $line;
        }
        $process = proc_open("read line; sleep 0.5; exit \$line", [['pipe', 'r']], $pipes);
        fwrite($pipes[0], "$n\n");

        return (string) proc_close($process);
    },
];
