<?php

// Hot enough to be compiled, and it waits in the middle of its loops.
class Walker
{
    public int $sum = 0;
    public float $product = 0.5;

    public function step(int $i): void
    {
        $this->sum += $i % 7;
        $this->product = $this->product * 1.0001 + $i;
    }
}

function walk(int $steps, int $seed): string
{
    $walker = new Walker();
    $seen = [];
    for ($i = 0; $i < $steps; $i++) {
        $seed = ($seed * 1103515245 + 12345) & 0x7fffffff;
        $seen[$seed % 64] = ($seen[$seed % 64] ?? 0) + $walker->sum;
        $walker->step($i);
        if ($i % 400 === 0) {
            usleep(50);
        }
    }
    return $seed . ':' . array_sum($seen) . ':' . round($walker->product, 3) . ':' . $GLOBALS['seed'];
}

$seed = (int) $_GET['n'] % 5;
echo 'sum ' . walk(8000, $seed);
