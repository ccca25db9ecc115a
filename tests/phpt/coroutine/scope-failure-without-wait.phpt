--TEST--
A failure that the body swallows or does not notice is thrown all the same, and leaves nothing behind
--WEFT-ONLY--
--FILE--
<?php
use Weft\Coroutine;
use Weft\Scope;

for ($round = 0; $round < 2; $round++) {
    try {
        Scope::run(function (Scope $scope): void {
            $scope->go(fn () => throw new LengthException('short'));
            try {
                sleep(30);
            } catch (Weft\CancelledError) {
                echo "swallowed\n";
            }
        });
    } catch (LengthException $failure) {
        echo $failure->getMessage(), "\n";
    }
    usleep(100);
}
foreach ([Coroutine::yield(...), fn () => null] as $notice) {
    try {
        Scope::run(function (Scope $scope) use ($notice): int {
            $scope->go(fn () => throw new LengthException('not noticed'));
            $notice();
            return 1;
        });
    } catch (LengthException $failure) {
        echo $failure->getMessage(), "\n";
    }
    usleep(100);
}
echo "free\n";
--EXPECT--
swallowed
short
swallowed
short
not noticed
not noticed
free
--STDERR--

