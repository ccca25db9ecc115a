--TEST--
A Fiber starts, suspends, resumes, returns
--FILE--
<?php
$fiber = new Fiber(function (string $a, string $b): string {
    echo "started with $a $b\n";
    $got = Fiber::suspend('first');
    echo "resumed with $got\n";
    $got = Fiber::suspend('second');
    echo "resumed with $got\n";
    return 'done';
});
var_dump($fiber->isStarted(), $fiber->start('x', 'y'), $fiber->isStarted(), $fiber->isSuspended());
var_dump($fiber->resume('1'), $fiber->resume('2'));
var_dump($fiber->isTerminated(), $fiber->getReturn());
--EXPECT--
started with x y
bool(false)
string(5) "first"
bool(true)
bool(true)
resumed with 1
resumed with 2
string(6) "second"
NULL
bool(true)
string(4) "done"
