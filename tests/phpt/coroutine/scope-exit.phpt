--TEST--
exit() in a task ends the script, with its scopes
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;

register_shutdown_function(function (): void {
    echo "shutdown\n";
});
Scope::run(function (Scope $scope): void {
    $scope->go(function (): void {
        try {
            sleep(30);
            echo "never\n";
        } finally {
            // Neither exit() nor the tasks it ends run finally blocks.
        }
    });
    $scope->go(function (): void {
        usleep(1000);
        exit(3);
    });
    sleep(30);
    echo "never\n";
});
echo "never\n";
--EXPECT--
shutdown
--STDERR--

--EXITCODE--
3
