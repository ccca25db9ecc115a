--TEST--
A fatal error inside a Fiber ends the script; shutdown functions run
--INI--
memory_limit=16M
--FILE--
<?php
register_shutdown_function(function () { echo "\nshutdown\n"; });
$fiber = new Fiber(function () { str_repeat('x', 100 << 20); });
$fiber->start();
--EXITCODE--
255
--EXPECTF--
%AFatal error: Allowed memory size of 16777216 bytes exhausted%A
shutdown
