--TEST--
Fibers nest; each suspends to who resumed it
--FILE--
<?php
function nest(int $depth): Fiber
{
    return new Fiber(function () use ($depth) {
        echo "enter $depth\n";
        if ($depth > 0) {
            $inner = nest($depth - 1);
            $inner->start();
            Fiber::suspend($depth);
            $inner->resume();
        } else {
            Fiber::suspend(0);
        }
        echo "leave $depth\n";
    });
}
$fiber = nest(4);
var_dump($fiber->start());
$fiber->resume();
var_dump($fiber->isTerminated());
--EXPECT--
enter 4
enter 3
enter 2
enter 1
enter 0
int(4)
leave 0
leave 1
leave 2
leave 3
leave 4
bool(true)
