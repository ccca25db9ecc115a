<?php

/* sleep(), usleep(), time_nanosleep(), time_sleep_until(), stream_select() without streams. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        $begun = hrtime(true);
        var_dump(sleep(0), usleep(1000), time_nanosleep(0, 1_000_000));
        // If the time has passed before the call, it waits for nothing and returns false.
        while (!@time_sleep_until(microtime(true) + 0.001));
        var_dump(hrtime(true) - $begun >= 3_000_000, @time_sleep_until(1.0));
    },
    'seconds' => 1.0,
    'waits' => static function (int $n): string {
        match ($n % 4) {
            0 => sleep(1),
            1 => usleep(1_000_000),
            2 => time_nanosleep(1, 0),
            3 => time_sleep_until(microtime(true) + 1),
        };

        return (string) $n;
    },
];
