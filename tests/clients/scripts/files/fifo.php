<?php

/* Named pipes: reading waits for data. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        $path = sys_get_temp_dir() . '/fifo-' . bin2hex(random_bytes(8));
        posix_mkfifo($path, 0600);
        $fifo = fopen($path, 'r+');
        fwrite($fifo, "text\n");
        var_dump(fgets($fifo));
        $writer = popen('sleep 0.02; echo late >' . escapeshellarg($path), 'r');
        var_dump(fgets($fifo));
        pclose($writer);
        unlink($path);
    },
    'waits' => static function (int $n): string {
        $path = sys_get_temp_dir() . '/fifo-' . getmypid() . '-' . ($n >> 1);
        @posix_mkfifo($path, 0600);
        $fifo = fopen($path, 'r+');
        if ($n % 2) {
            usleep(400_000);
            fwrite($fifo, ($n - 1) . "\n");

            return (string) $n;
        }
        $line = trim(fgets($fifo));
        unlink($path);

        return $line;
    },
];
