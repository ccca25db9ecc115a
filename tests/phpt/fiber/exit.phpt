--TEST--
exit() inside a Fiber ends the script
--FILE--
<?php
register_shutdown_function(function () { echo "shutdown\n"; });
$fiber = new Fiber(function () {
    $inner = new Fiber(function () { echo "inner\n"; exit(4); });
    $inner->start();
    echo "never\n";
});
$fiber->start();
echo "never\n";
--EXITCODE--
4
--EXPECT--
inner
shutdown
