--TEST--
A thousand Fibers alive at once
--FILE--
<?php
$fibers = [];
for ($i = 0; $i < 1000; $i++) {
    $fibers[$i] = new Fiber(function () use ($i) { return $i + Fiber::suspend(); });
    $fibers[$i]->start();
}
$sum = 0;
foreach (array_reverse($fibers) as $fiber) {
    $fiber->resume(1);
    $sum += $fiber->getReturn();
}
var_dump($sum);
--EXPECT--
int(500500)
