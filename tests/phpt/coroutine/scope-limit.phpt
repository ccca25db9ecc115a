--TEST--
So many tasks of a scope run at once; go() waits for room, in order
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;

$running = $most = 0;
$ended = [];
Scope::run(function (Scope $scope) use (&$running, &$most, &$ended): void {
    for ($i = 0; $i < 20; $i++) {
        $scope->go(function () use ($i, &$running, &$most, &$ended): void {
            $most = max($most, ++$running);
            usleep(500);
            $running--;
            $ended[] = $i;
        });
    }
}, concurrency: 3);
echo $most, ' ', count($ended), ' ', $ended === range(0, 19) ? 'in order' : json_encode($ended), "\n";

// A cancelled task releases its place even if it never began.
echo Scope::run(function (Scope $scope): string {
    for ($i = 0; $i < 100; $i++) {
        $scope->go(fn () => throw new LogicException('never runs'))->cancel();
    }

    return $scope->go(fn () => 'room for another')->await();
}, concurrency: 2), "\n";

try {
    Scope::run(fn () => null, concurrency: 0);
} catch (ValueError $error) {
    echo get_class($error), "\n";
}
--EXPECT--
3 20 in order
room for another
ValueError
--STDERR--

