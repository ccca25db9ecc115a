--TEST--
A scope with a timeout ends its body and its tasks when it has passed
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;
use Weft\TimeoutException;

function waits(string $name): void
{
    try {
        sleep(30);
    } finally {
        usleep(1000);
        echo "$name ended\n";
    }
}

foreach ([true, false] as $bodyWaits) {
    try {
        Scope::run(function (Scope $scope) use ($bodyWaits): void {
            $scope->go(waits(...), 'task');
            if ($bodyWaits) {
                waits('body');
            }
        }, timeout: 0.02);
    } catch (TimeoutException $timeout) {
        echo get_class($timeout), "\n";
    }
}
usleep(1000);
echo Scope::run(fn (Scope $scope) => $scope->go(fn () => 'in time')->await(), timeout: 30.0), "\n";
// The shorter of the two applies.
try {
    Scope::run(fn () => Scope::run(fn (Scope $inner) => $inner->go(waits(...), 'inner'), timeout: 30.0), timeout: 0.01);
} catch (TimeoutException $timeout) {
    echo get_class($timeout), "\n";
}
usleep(1000);
--EXPECT--
body ended
task ended
Weft\TimeoutException
task ended
Weft\TimeoutException
in time
inner ended
Weft\TimeoutException
--STDERR--

