--TEST--
Fibers of methods, first-class callables, static closures and internal functions
--FILE--
<?php
class A {
    function m($x) { return $x . Fiber::suspend(); }
    static function s($x) { return $x . Fiber::suspend(); }
    function __invoke($x) { return $x . Fiber::suspend(); }
}
$a = new A;
foreach ([[$a, 'm'], 'A::s', $a, $a->m(...), A::s(...), static fn ($x) => $x . Fiber::suspend()] as $callable) {
    $fiber = new Fiber($callable);
    $fiber->start('x');
    $fiber->resume('y');
    echo $fiber->getReturn(), ' ';
}
$internal = new Fiber('array_map');
$internal->start(fn ($v) => Fiber::suspend($v), [1, 2]);
$internal->resume('p');
$internal->resume('q');
echo implode($internal->getReturn()), "\n";
--EXPECT--
xy xy xy xy xy xy pq
