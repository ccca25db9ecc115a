--TEST--
set_time_limit() ends a script that computes for ever; waiting does not count
--FILE--
<?php
set_time_limit(1);
register_shutdown_function(function () { echo "\nshutdown\n"; });
usleep(1200000);
echo "waited\n";
while (true) {
}
--EXITCODE--
255
--EXPECTF--
waited
%AFatal error: Maximum execution time of 1 second exceeded in %s on line %d
%A
shutdown
