--TEST--
Random use of locks, with timeouts and cancellations: never too many inside, and in the end all is free
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Mutex;
use Weft\Scope;
use Weft\Semaphore;
use Weft\TimeoutException;

mt_srand($seed = random_int(0, PHP_INT_MAX));
$mutex = new Mutex();
$semaphore = new Semaphore(3);
$inMutex = $inSemaphore = $most = $entered = 0;
$step = function () use ($mutex, $semaphore, &$inMutex, &$inSemaphore, &$most, &$entered, $seed): void {
    $timeout = [null, 0, 0.0001, 0.001][mt_rand(0, 3)];
    try {
        if (mt_rand(0, 1) === 0) {
            $mutex->synchronized(function () use (&$inMutex, &$entered, $seed): void {
                $entered++;
                if (++$inMutex > 1) {
                    echo "seed $seed: two in the mutex\n";
                }
                try {
                    usleep(mt_rand(1, 50));
                } finally {
                    $inMutex--;
                }
            }, $timeout);
        } else {
            $semaphore->with(function () use (&$inSemaphore, &$most, &$entered): void {
                $entered++;
                $most = max($most, ++$inSemaphore);
                try {
                    usleep(mt_rand(1, 50));
                } finally {
                    $inSemaphore--;
                }
            }, $timeout);
        }
    } catch (TimeoutException | CancelledError) {
    }
};
Scope::run(function (Scope $scope) use ($step): void {
    $tasks = [];
    for ($i = 0; $i < 30; $i++) {
        $tasks[] = $scope->go(function () use ($step): void {
            for ($i = 0; $i < 40; $i++) {
                $step();
            }
        });
    }
    $scope->go(function () use ($tasks): void {
        for ($i = 0; $i < 150; $i++) {
            usleep(mt_rand(1, 100));
            $tasks[mt_rand(0, 29)]->cancel();
        }
    });
});
echo !$mutex->locked() && $semaphore->free() === 3 && $most === 3 && $entered > 100
    ? "all right\n"
    : "seed $seed: locked {$mutex->locked()}, free {$semaphore->free()}, at most $most, $entered entered\n";
--EXPECT--
all right
--STDERR--

