--TEST--
A compile error ends with 255
--FILE--
<?php
echo "never\n";
class A { public $x; public $x; }
--EXITCODE--
255
--EXPECTF--
%AFatal error: Cannot redeclare A::$x in %s on line 3%A
