<?php

/* flock(): requests in pairs wait for each other; shared locks; a lock held by another process. */

declare(strict_types=1);

/** @return resource */
function lock_file(string $name)
{
    return fopen(sys_get_temp_dir() . '/weft-flock-' . getmypid() . "-$name", 'c+');
}

return [
    'prints' => static function (): void {
        $name = bin2hex(random_bytes(8));
        [$a, $b] = [lock_file($name), lock_file($name)];
        var_dump(flock($a, LOCK_SH), flock($b, LOCK_SH), flock($b, LOCK_EX | LOCK_NB, $would), $would);
        var_dump(flock($a, LOCK_UN), flock($b, LOCK_EX));
        fclose($b);
        var_dump(flock($a, LOCK_EX), flock($a, LOCK_UN));
        $path = stream_get_meta_data($a)['uri'];
        $holder = proc_open(['flock', $path, 'sh', '-c', 'echo held; read line; sleep 0.1'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
        fgets($pipes[1]);
        var_dump(flock($a, LOCK_EX | LOCK_NB));
        fwrite($pipes[0], "let go\n");
        var_dump(flock($a, LOCK_EX));
        proc_close($holder);
        unlink($path);
    },
    // The odd request waits for the lock when the even one has it, or has had it.
    'waits' => static function (int $n): string {
        $file = lock_file((string) ($n >> 1));
        while ($n % 2 === 1 && fstat($file)['size'] === 0 && flock($file, LOCK_EX | LOCK_NB)) {
            flock($file, LOCK_UN);
            usleep(1000);
        }
        flock($file, LOCK_EX);
        if ($n % 2 === 0) {
            usleep(500_000);
            fwrite($file, (string) ($n + 1));
            flock($file, LOCK_UN);

            return (string) $n;
        }

        return fread($file, 100);
    },
];
