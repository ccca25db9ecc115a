--TEST--
Exceptions go into a Fiber and come out of it
--FILE--
<?php
$fiber = new Fiber(function () {
    try {
        Fiber::suspend(1);
    } catch (InvalidArgumentException $e) {
        echo 'inside: ', $e->getMessage(), "\n";
        Fiber::suspend(2);
    } finally {
        echo "finally\n";
    }
    throw new RangeException('out');
});
$fiber->start();
var_dump($fiber->throw(new InvalidArgumentException('in')));
try {
    $fiber->resume();
} catch (RangeException $e) {
    echo 'outside: ', $e->getMessage(), "\n";
}
var_dump($fiber->isTerminated());
try {
    $fiber->getReturn();
} catch (FiberError $e) {
    echo $e->getMessage(), "\n";
}
--EXPECT--
inside: in
int(2)
finally
outside: out
bool(true)
Cannot get fiber return value: The fiber threw an exception
