--TEST--
A waiter that is cancelled or gives up does not keep the mutex from the next
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Mutex;
use function Weft\go;

$mutex = new Mutex();
$mutex->lock();
$tasks = [];
foreach (['first', 'second', 'third'] as $name) {
    $tasks[$name] = go(function () use ($mutex, $name): void {
        try {
            $mutex->synchronized(fn () => print("$name has it\n"));
        } catch (CancelledError) {
            echo "$name was cancelled\n";
        }
    });
}
usleep(1000);
$tasks['first']->cancel();
usleep(1000);
$mutex->unlock();          // to the second,
$tasks['second']->cancel(); // which is cancelled before it can run
usleep(1000);
$tasks['third']->await(30.0);
var_dump($mutex->locked());
--EXPECTF--
first was cancelled
second %s
third has it
bool(false)
--STDERR--

