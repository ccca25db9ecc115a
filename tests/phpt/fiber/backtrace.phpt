--TEST--
A backtrace inside a Fiber ends where the Fiber was started or resumed
--FILE--
<?php
function inside() { Fiber::suspend(); foreach (debug_backtrace() as $f) { echo $f['function'], "\n"; } }
$fiber = new Fiber(function () { inside(); });
function go($fiber) { $fiber->resume(); }
$fiber->start();
go($fiber);
$r = new ReflectionFiber($f2 = new Fiber(fn () => Fiber::suspend()));
$f2->start();
var_dump($r->getExecutingLine());
--EXPECTF--
inside
{closure%S}
resume
go
int(7)
