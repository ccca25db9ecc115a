--TEST--
Misuse of Fibers is told
--FILE--
<?php
function told(callable $do): void
{
    try {
        $do();
    } catch (FiberError $e) {
        echo $e->getMessage(), "\n";
    }
}
$fiber = new Fiber(fn () => Fiber::suspend());
told(fn () => $fiber->resume());
told(fn () => $fiber->getReturn());
$fiber->start();
told(fn () => $fiber->start());
told(fn () => $fiber->getReturn());
$fiber->resume();
told(fn () => $fiber->resume());
told(fn () => Fiber::suspend());
$self = new Fiber(function () use (&$self) { told(fn () => $self->resume()); });
$self->start();
told(fn () => new FiberError);
var_dump(Fiber::getCurrent());
--EXPECTF--
Cannot resume a fiber that is not suspended
Cannot get fiber return value: The fiber has not been started
Cannot start a fiber that has already been started
Cannot get fiber return value: The fiber has not returned
Cannot resume a fiber that is not suspended
Cannot suspend outside of a fiber
Cannot resume a fiber that is not suspended
%AFatal error: Uncaught Error: The "FiberError" class is reserved for internal use and cannot be manually instantiated in %s:%d
%A
--EXITCODE--
255
