<?php
usleep(2000);
function deeper(int $n): array
{
    return array_map(deeper(...), [$n + 1]);
}
ini_set('memory_limit', '-1');
$fiber = new Fiber(fn () => deeper(0));
$fiber->start();
