--TEST--
A body that throws cancels its tasks; run() throws it when they have ended
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;

try {
    Scope::run(function (Scope $scope): void {
        $scope->go(function (): void {
            try {
                sleep(30);
            } finally {
                usleep(1000);
                echo "task ended\n";
            }
        });
        usleep(1000);
        throw new RuntimeException('body');
    });
} catch (RuntimeException $failure) {
    echo $failure->getMessage(), "\n";
}
--EXPECT--
task ended
body
--STDERR--

