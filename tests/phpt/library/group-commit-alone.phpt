--TEST--
Outside coroutines a group commit flushes each item by itself
--LIBRARY--
--FILE--
<?php
use Weft\Queue\GroupCommit;

// A shutdown function of `weft php` runs outside coroutines, as everything does under php.
register_shutdown_function(function (): void {
    $commits = new GroupCommit(function (array $items): array {
        echo json_encode($items), "\n";

        return $items === ['bad'] ? throw new DomainException('refused') : ['result'];
    });
    echo $commits->commit('a'), "\n";
    try {
        $commits->commit('bad');
    } catch (DomainException $failure) {
        echo $failure->getMessage(), "\n";
    }
    echo $commits->commit('b'), "\n";
});
--EXPECT--
["a"]
result
["bad"]
refused
["b"]
result
