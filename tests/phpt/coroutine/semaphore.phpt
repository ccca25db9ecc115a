--TEST--
A semaphore lets so many in, the longest waiter first; permits are never lost
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Semaphore;
use Weft\TimeoutException;
use function Weft\go;
use function Weft\parallel;

$semaphore = new Semaphore(2);
$inside = $most = 0;
$order = [];
$work = function (int $i) use (&$inside, &$most, &$order): void {
    $most = max($most, ++$inside);
    $order[] = $i;
    usleep(200);
    $inside--;
};
parallel(array_map(fn (int $i) => fn () => $semaphore->with(fn () => $work($i)), range(1, 10)));
echo $most, ' ', implode(',', $order), ' ', $semaphore->free(), "\n";

var_dump($semaphore->acquire(), $semaphore->acquire(0), $semaphore->acquire(0), $semaphore->acquire(0.0001), $semaphore->free());
try {
    $semaphore->with(fn () => null, 0.001);
} catch (TimeoutException $timeout) {
    echo $timeout->getMessage(), "\n";
}
$waiter = function () use ($semaphore): string {
    try {
        $semaphore->acquire();
        return 'got it';
    } catch (CancelledError) {
        return 'cancelled';
    }
};
$first = go($waiter);
$second = go($waiter);
usleep(500);
$semaphore->release(); // to the first,
$first->cancel();      // which is cancelled before it can run
usleep(500);
$of = $first->await();
$semaphore->release();
echo $second->await(30.0), "\n";
var_dump($semaphore->free() === ($of === 'got it' ? 0 : 1));
$permits = $of === 'got it' ? 2 : 1;
while ($permits-- > 0) {
    $semaphore->release();
}
try {
    $semaphore->release();
} catch (LogicException $error) {
    echo $error->getMessage(), "\n";
}
try {
    new Semaphore(0);
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
2 1,2,3,4,5,6,7,8,9,10 2
bool(true)
bool(true)
bool(false)
bool(false)
int(0)
None of 2 permits became free within 0.001 seconds
got it
bool(true)
Semaphore::release() was called more often than acquire()
Weft\Semaphore: there must be at least 1 permit, not 0
--STDERR--

