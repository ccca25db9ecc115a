--TEST--
Scope::run() returns what its body returns, when all tasks have ended
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;

$result = Scope::run(function (Scope $scope): string {
    $scope->go(function (): void {
        usleep(2000);
        echo "slow\n";
    });
    $task = $scope->go(fn (int $a, int $b): int => $a + $b, 2, b: 3);
    echo "body\n";

    return 'sum ' . $task->await();
});
echo "$result\n";
echo Scope::run(fn () => 'nothing started'), "\n";
--EXPECT--
body
slow
sum 5
nothing started
