<?php

/* sem_acquire(): two requests share each semaphore. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        $key = random_int(1, 0x7fffffff);
        $one = sem_get($key, 1, 0600, false);
        $two = sem_get($key, 1, 0600, false);
        var_dump(sem_acquire($one), sem_acquire($two, true), sem_release($one), sem_acquire($two));
        var_dump(sem_release($two), sem_remove($one), @sem_acquire($two));
    },
    'waits' => static function (int $n): string {
        $semaphore = sem_get((getmypid() << 8) + ($n >> 1), 1, 0600, false);
        sem_acquire($semaphore);
        if ($n % 2 === 0) {
            usleep(500_000);
            sem_release($semaphore);
        } else {
            sem_remove($semaphore);
        }

        return (string) $n;
    },
];
