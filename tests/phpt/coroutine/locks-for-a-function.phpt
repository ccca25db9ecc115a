--TEST--
A lock or a permit that is held for a function is given back when the function throws or waits; giving it back twice is an error
--WEFT-ONLY--
--FILE--
<?php
use Weft\Mutex;
use Weft\Semaphore;
use function Weft\go;

$mutex = new Mutex();
$semaphore = new Semaphore(1);
$works = [
    'throw' => fn () => throw new DomainException('inside'),
    'wait' => fn () => usleep(1000),
];
foreach ($works as $name => $work) {
    foreach ([fn () => $mutex->synchronized($work), fn () => $semaphore->with($work)] as $call) {
        try {
            go($call)->await();
            echo "$name: done\n";
        } catch (Throwable $failure) {
            echo "$name: ", get_class($failure), ' ', $failure->getMessage(), "\n";
        }
    }
    echo $mutex->locked() ? 'locked' : 'free', ' ', $semaphore->free(), "\n";
}
foreach ([fn () => $mutex->synchronized($mutex->unlock(...)), fn () => $semaphore->with($semaphore->release(...))] as $twice) {
    try {
        var_dump($twice());
    } catch (LogicException $error) {
        echo preg_replace('/\d+/', 'N', $error->getMessage()), "\n";
    }
}
try {
    $mutex->synchronized(function () use ($mutex): void {
        $mutex->unlock();
        throw new DomainException('the first');
    });
} catch (LogicException $error) {
    echo $error->getPrevious()->getMessage(), "\n";
}
echo $mutex->locked() ? 'locked' : 'free', ' ', $semaphore->free(), "\n";
--EXPECT--
throw: DomainException inside
throw: DomainException inside
free 1
wait: done
wait: done
free 1
Mutex::unlock(): coroutine N does not hold it, nobody does
Semaphore::release() was called more often than acquire()
the first
free 1
--STDERR--
