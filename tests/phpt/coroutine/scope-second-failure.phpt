--TEST--
Only the first failure is thrown; what fails after it is logged
--WEFT-ONLY--
--INI--
display_errors=stderr
--FILE--
<?php
use Weft\Scope;

try {
    Scope::run(function (Scope $scope): void {
        $scope->go(function (): void {
            try {
                sleep(30);
            } catch (Weft\CancelledError) {
                throw new RuntimeException('while cleaning up');
            }
        });
        $scope->go(fn () => throw new DomainException('first'));
    });
} catch (DomainException $failure) {
    echo $failure->getMessage(), "\n";
}
--EXPECT--
first
--STDERR--
a task has failed, and nobody awaits it:
%ARuntimeException: while cleaning up in %A
--EXITCODE--
255
