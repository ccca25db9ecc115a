--TEST--
An exception in a destructor reaches the code that dropped the object, and joins one that is under way
--FILE--
<?php
class D { function __destruct() { throw new LogicException('from destructor'); } }
try {
    $d = new D;
    unset($d);
} catch (LogicException $e) {
    echo 'caught ', $e->getMessage(), "\n";
}
function f() { $d = new D; throw new RuntimeException('from function'); }
try {
    f();
} catch (LogicException $e) {
    echo $e->getMessage(), ' after ', $e->getPrevious()->getMessage(), "\n";
}
--EXPECT--
caught from destructor
from destructor after from function
