--TEST--
Waits inside nested Fibers return into the Fiber that waited
--FILE--
<?php
$outer = new Fiber(function () {
    $inner = new Fiber(function () {
        usleep(1000);
        $me = Fiber::getCurrent();
        Fiber::suspend('inner');
        usleep(1000);
        var_dump($me === Fiber::getCurrent());
        return 'inner done';
    });
    var_dump($inner->start());
    usleep(1000);
    Fiber::suspend('outer');
    $inner->resume();
    return $inner->getReturn();
});
var_dump($outer->start());
sleep(0);
usleep(1000);
$outer->resume();
var_dump($outer->getReturn());
--EXPECT--
string(5) "inner"
string(5) "outer"
bool(true)
string(10) "inner done"
