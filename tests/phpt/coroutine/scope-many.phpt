--TEST--
Thousands of tasks pass through one scope without piling up
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;

$sum = 0;
$growth = Scope::run(function (Scope $scope) use (&$sum): int {
    $before = null;
    for ($i = 1; $i <= 20000; $i++) {
        $scope->go(function (int $i) use (&$sum): void {
            $sum += $i;
        }, $i);
        if ($i === 2000) {
            $before = memory_get_usage();
        }
    }

    return memory_get_usage() - $before;
}, concurrency: 50);
echo $sum, ' ', $growth < 500000 ? 'no growth' : "grew by $growth", "\n";
--EXPECT--
200010000 no growth
--STDERR--

