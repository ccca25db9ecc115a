--TEST--
An uncaught exception ends with 255 and a message
--FILE--
<?php
class Trouble extends RuntimeException {}
function f(): never { throw new Trouble('went wrong', 5, new LogicException('because')); }
echo "start\n";
f();
--EXITCODE--
255
--EXPECTF--
start%AFatal error: Uncaught LogicException: because in %s:3
Stack trace:
#0 %s(5): f()
#1 {main}

Next Trouble: went wrong in %s:3
Stack trace:
#0 %s(5): f()
#1 {main}
  thrown in %s on line 3
