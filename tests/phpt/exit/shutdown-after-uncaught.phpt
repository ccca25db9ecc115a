--TEST--
Shutdown functions and destructors after an uncaught exception
--FILE--
<?php
class D { function __destruct() { echo "destructor\n"; } }
$d = new D;
register_shutdown_function(function () { echo "shutdown, last error ", error_get_last()['type'], "\n"; });
throw new Exception('x');
--EXITCODE--
255
--EXPECTF--
%AFatal error: Uncaught Exception: x in %s:5
Stack trace:
#0 {main}
  thrown in %s on line 5
shutdown, last error 1
destructor
