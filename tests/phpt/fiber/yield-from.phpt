--TEST--
yield from across Fibers and waits
--FILE--
<?php
function inner(): Generator { usleep(500); yield 1; Fiber::suspend(); yield 2; return 3; }
function outer(): Generator { $r = yield from inner(); usleep(500); yield $r; }
$fiber = new Fiber(fn () => iterator_to_array(outer(), false));
$fiber->start();
$fiber->resume();
echo implode(',', $fiber->getReturn()), "\n";
--EXPECT--
1,2,3
