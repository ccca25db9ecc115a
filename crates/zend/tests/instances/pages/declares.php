<?php
// An application with many declarations, which waits in the middle and finds nothing of another request.
$n = (int) $_GET['n'];
$left = count(get_defined_functions()['user']) + count(get_defined_constants(true)['user'] ?? []) + (class_exists('Class0', false) ? 1 : 0);
$code = '';
for ($i = 0; $i < 3000; $i++) {
    $code .= "function f{$i}() { return $n + $i; }\n";
}
for ($i = 0; $i < 300; $i++) {
    $code .= "class Class$i { const OWN = $n; }\n";
}
eval($code);
for ($i = 0; $i < 1000; $i++) {
    define("CONSTANT_$i", $n);
}
usleep(1000);
$right = f2999() === $n + 2999 && Class299::OWN === $n && CONSTANT_999 === $n && strlen('internal') === 8 && PHP_INT_SIZE === 8
    && count(get_defined_functions()['user']) === 3000 && (new ArrayObject([1]))->count() === 1;
echo $left === 0 && $right ? "calm $n" : "wrong $n: $left left";
