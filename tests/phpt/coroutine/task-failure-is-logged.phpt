--TEST--
What a task throws and nobody awaits is logged; what a scope throws is not logged twice
--WEFT-ONLY--
--INI--
display_errors=stderr
--FILE--
<?php
use Weft\Scope;
use function Weft\go;

go(fn () => throw new DomainException('nobody awaits this'));
try {
    Scope::run(fn (Scope $scope) => $scope->go(fn () => throw new RangeException('thrown by the scope')));
} catch (RangeException $failure) {
    echo $failure->getMessage(), "\n";
}
--EXPECT--
thrown by the scope
--STDERR--
a task has failed, and nobody awaits it:
%ADomainException: nobody awaits this in %A
--EXITCODE--
255
