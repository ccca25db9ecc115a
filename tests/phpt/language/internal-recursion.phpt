--TEST--
Recursion through internal functions, some thousand deep
--FILE--
<?php
function nest(int $n) { return $n === 0 ? [0] : array_map(fn ($x) => $x + 1, call_user_func('nest', $n - 1)); }
function down(int $n) { return $n === 0 ? 'bottom' : array_map('down', [$n - 1])[0]; }
var_dump(nest(2000)[0], down(2000));
--EXPECT--
int(2000)
string(6) "bottom"
