<?php

declare(strict_types=1);

// Uses 1.5 MB of its heap and some of its stack, keeps little, and waits until the test releases a file. Then it checks
// what it has kept, and uses as much again.
const BLOCKS = 96;

function block(int $i): string
{
    return str_repeat(chr(97 + ($i + (int) $_GET['n']) % 26), 15_000);
}

function deep(int $levels): int
{
    return $levels === 0 ? 1 : array_sum(array_map(fn () => deep($levels - 1), [1]));
}

function wait(): void
{
    $file = fopen("$_GET[in]/lock", 'r');
    file_put_contents("$_GET[in]/arrived", 'x', FILE_APPEND);
    flock($file, LOCK_SH);
}

$blocks = array_map(block(...), range(0, BLOCKS - 1));
$deep = deep(100);
for ($i = 0; $i < BLOCKS; $i++) {
    if ($i % 24 !== 0) {
        unset($blocks[$i]);
    }
}
// Some wait on a stack other than their instance's.
$_GET['n'] % 3 === 0 ? (new Fiber(wait(...)))->start() : wait();
for ($i = 0; $i < BLOCKS; $i++) {
    $blocks[$i] ??= block($i);
}
for ($i = 0; $i < BLOCKS; $i++) {
    $blocks[$i] === block($i) or exit("block $i is not as it was");
}
echo count($blocks) === BLOCKS && deep(100) === $deep ? "calm $_GET[n]" : 'disturbed';
