--TEST--
The first task that fails cancels the others and interrupts the body; run() throws when all have ended
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Scope;

try {
    Scope::run(function (Scope $scope): void {
        $scope->go(function (): void {
            try {
                sleep(30);
            } catch (CancelledError $cancelled) {
                echo $cancelled->getMessage(), "\n";
                usleep(2000); // cleaning up may wait
                echo "cleaned up\n";
                throw $cancelled;
            }
        });
        $scope->go(function (): void {
            usleep(1000);
            throw new DomainException('bad');
        });
        try {
            sleep(30);
        } finally {
            echo "body interrupted\n";
        }
    });
} catch (DomainException $failure) {
    echo get_class($failure), ': ', $failure->getMessage(), "\n";
}
usleep(1000); // the scope's interruption happens once: later waits do not throw
echo "after\n";
--EXPECT--
The task was cancelled: another task of its scope has failed
body interrupted
cleaned up
DomainException: bad
after
--STDERR--

