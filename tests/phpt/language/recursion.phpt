--TEST--
Deep recursion in PHP code needs no C stack
--FILE--
<?php
function depth(int $n): int { return $n === 0 ? 0 : 1 + depth($n - 1); }
var_dump(depth(50000));
--EXPECT--
int(50000)
