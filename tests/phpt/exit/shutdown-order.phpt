--TEST--
Shutdown functions run in order, may add others, and may change the status by exit
--FILE--
<?php
register_shutdown_function(function () {
    echo "first\n";
    register_shutdown_function(function () { echo "added\n"; });
});
register_shutdown_function(function ($a, $b) { echo "second $a $b\n"; }, 1, 'two');
register_shutdown_function(function () { echo "third\n"; exit(9); });
register_shutdown_function(function () { echo "not after exit\n"; });
echo "main\n";
exit(2);
--EXITCODE--
9
--EXPECT--
main
first
second 1 two
third
