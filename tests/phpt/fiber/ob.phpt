--TEST--
Output buffers are shared by a script's own Fibers
--FILE--
<?php
ob_start();
$fiber = new Fiber(function () { echo 'a'; Fiber::suspend(); echo 'c'; });
$fiber->start();
echo 'b';
$fiber->resume();
echo strrev(ob_get_clean()), "\n";
--EXPECT--
cba
