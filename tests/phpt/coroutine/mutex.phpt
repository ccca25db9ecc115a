--TEST--
A mutex lets one in at a time, in order, and only its owner out
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use Weft\Coroutine;
use Weft\Mutex;
use Weft\TimeoutException;
use function Weft\go;

$mutex = new Mutex();
$gate = new Channel();
foreach ([1, 2, 3] as $i) {
    go(fn () => $mutex->synchronized(function () use ($i, $gate): void {
        echo "$i in\n";
        $gate->receive();
        echo "$i out\n";
    }));
}
Coroutine::yield();
var_dump($mutex->locked(), $mutex->lock(0), $mutex->lock(0.0001));
go(function () use ($gate): void {
    for ($i = 0; $i < 3; $i++) {
        $gate->send(null);
    }
});
$mutex->lock();
echo "mine\n";
foreach ([$mutex->lock(...), fn () => go($mutex->unlock(...))->await()] as $wrong) {
    try {
        $wrong();
    } catch (LogicException $error) {
        echo preg_replace('/\d+/', 'N', $error->getMessage()), "\n";
    }
}
try {
    go(fn () => $mutex->synchronized(fn () => null, 0.001))->await();
} catch (TimeoutException $timeout) {
    echo preg_replace('/\d+$|(?<=coroutine )\d+/', 'N', $timeout->getMessage()), "\n";
}
$mutex->unlock();
try {
    $mutex->unlock();
} catch (LogicException $error) {
    echo preg_replace('/\d+/', 'N', $error->getMessage()), "\n";
}
try {
    $mutex->synchronized(fn () => throw new DomainException('inside'));
} catch (DomainException $failure) {
    echo $failure->getMessage(), $mutex->locked() ? ' locked' : ' free', "\n";
}
echo $mutex->synchronized(fn () => 'result'), "\n";
--EXPECT--
1 in
bool(true)
bool(false)
bool(false)
1 out
2 in
2 out
3 in
3 out
mine
Mutex::lock(): this coroutine holds it already and would wait for itself
Mutex::unlock(): coroutine N does not hold it, coroutine N does
The mutex was not free within 0.001 seconds; coroutine N holds it
Mutex::unlock(): coroutine N does not hold it, nobody does
inside free
result
--STDERR--

