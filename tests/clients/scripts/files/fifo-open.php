<?php

/* Opening a named pipe waits until its other end is opened. */

declare(strict_types=1);

function pipe_at(string $name): string
{
    $path = sys_get_temp_dir() . "/fifo-open-$name-" . getmypid();
    @posix_mkfifo($path, 0600);

    return $path;
}

return [
    'prints' => static function (): void {
        $path = pipe_at(bin2hex(random_bytes(8)));
        $writer = popen('sleep 0.05; echo from a process >' . escapeshellarg($path), 'r');
        $reading = fopen($path, 'r');
        var_dump(fgets($reading), fgets($reading), feof($reading));
        pclose($writer);
        fclose($reading);
        unlink($path);
        // Each request has its own pipe. A child that another request starts has all descriptors for a moment, until it
        // executes its command (the kernel lets the parent continue before it closes them), and would count as a
        // reader.
        $path = pipe_at(bin2hex(random_bytes(8)));
        $reader = popen('sleep 0.05; cat ' . escapeshellarg($path), 'r');
        $writing = fopen($path, 'w');
        fwrite($writing, "to a process\n");
        fclose($writing);
        var_dump(fgets($reader), pclose($reader));
        // Non-blocking, it does not wait for the other end.
        $reading = fopen($path, 'rn');
        var_dump(is_resource($reading), is_resource(fopen($path, 'r+')));
        unlink($path);
        chdir(sys_get_temp_dir());
        posix_mkfifo($name = 'fifo-' . bin2hex(random_bytes(8)), 0600);
        $writer = popen("sleep 0.05; echo by a relative name >$name", 'r');
        var_dump(file_get_contents($name));
        pclose($writer);
        unlink($name);
    },
    // One request of each pair opens its end 0.5 s before the other; which end that is differs from pair to
    // pair.
    'waits' => static function (int $n): string {
        $path = pipe_at((string) ($n >> 1));
        $reads = ($n >> 1) % 2 === $n % 2;
        if ($n % 2) {
            usleep(400_000);
        }
        $fifo = fopen($path, $reads ? 'r' : 'w');
        if ($reads) {
            return fgets($fifo) === "line\n" ? (string) $n : 'lost';
        }
        fwrite($fifo, "line\n");

        return (string) $n;
    },
];
