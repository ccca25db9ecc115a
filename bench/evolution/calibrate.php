<?php

declare(strict_types=1);

// Prints the CPU time of one handler in ns, nothing else being done: the least of five times. What page() does and the answer's
// text count; the objects of a request and an answer do not, because the server makes them.

require __DIR__ . '/../apps/page.php';

const CALLS = 5_000;
const ROUNDS = 5;

function cpu_ns(): int
{
    $used = getrusage();

    return ($used['ru_utime.tv_sec'] + $used['ru_stime.tv_sec']) * 1_000_000_000 + ($used['ru_utime.tv_usec'] + $used['ru_stime.tv_usec']) * 1_000;
}

$best = PHP_INT_MAX;
for ($round = 0; $round < ROUNDS; ++$round) {
    $before = cpu_ns();
    for ($i = 0; $i < CALLS; ++$i) {
        $answer = page((string) $i) . 'Hello World';
    }
    $best = min($best, intdiv(cpu_ns() - $before, CALLS));
}
echo $best, "\n";
