--TEST--
A fatal error ends with 255; shutdown functions still run
--INI--
memory_limit=16M
--FILE--
<?php
register_shutdown_function(function () {
    $error = error_get_last();
    echo "\nshutdown: ", $error['type'] === E_ERROR ? 'E_ERROR' : $error['type'], "\n";
});
$data = str_repeat('x', 100 << 20);
echo "never\n";
--EXITCODE--
255
--EXPECTF--
%AFatal error: Allowed memory size of 16777216 bytes exhausted (tried to allocate %d bytes) in %s on line 6
%A
shutdown: E_ERROR
