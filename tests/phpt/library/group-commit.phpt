--TEST--
What is committed at the same time is flushed together; each gets its own result, or the failure of all
--WEFT-ONLY--
--FILE--
<?php
use Weft\Queue\GroupCommit;
use Weft\Scope;

use function Weft\parallel;

$fails = false;
$commits = new GroupCommit(function (array $items) use (&$fails): array {
    echo 'flush of ', json_encode($items), "\n";
    usleep(1000);

    return $fails ? throw new DomainException('the disk is full') : array_map(fn (int $item) => $item * 10, $items);
}, items_max: 3);
$commit = fn (int $item): Closure => fn () => $commits->commit($item);

echo json_encode(parallel(array_map($commit, [1, 2, 3, 4]))), "\n";
$fails = true;
echo json_encode(parallel(array_map(fn (int $item) => function () use ($commits, $item): string {
    try {
        return $commits->commit($item);
    } catch (DomainException $failure) {
        return $failure->getMessage();
    }
}, [5, 6]))), "\n";
$silent = new GroupCommit(function (array $items): void {});
var_dump($silent->commit('x'));
--EXPECT--
flush of [1,2,3]
flush of [4]
[10,20,30,40]
flush of [5,6]
["the disk is full","the disk is full"]
NULL
