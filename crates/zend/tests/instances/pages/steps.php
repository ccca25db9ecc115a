<?php
/** A little of everything that the VM does, for slices of one instruction: it says what went wrong. */
$n = (int) $_GET['n'];
final class Ends
{
    public static int $count = 0;
    public ?Ends $self = null;

    public function __destruct()
    {
        self::$count++;
    }
}
function numbers(int $to): Generator
{
    for ($i = 0; $i < $to; $i++) {
        yield $i => $i * 2;
    }
}
function work(int $to, int $seed): int
{
    for ($i = 0, $x = $seed; $i < $to; $i++) {
        $x = ($x * 1103515245 + $i) & 0x7fffffff;
    }
    return $x;
}
$wrong = [];
$known = work(30, $n);
for ($round = 0; $round < 4; $round++) {
    if (work(30, $n) !== $known) {
        $wrong[] = 'loop';
    }
    if (array_sum(iterator_to_array(numbers(5))) !== 20) {
        $wrong[] = 'generator';
    }
    $list = [5, 3, 4, 1, 2];
    usort($list, fn (int $a, int $b): int => $a <=> $b);
    if (implode($list) !== '12345') {
        $wrong[] = 'usort';
    }
    $fiber = new Fiber(fn (int $x): int => $x + Fiber::suspend($x));
    if ($fiber->start($n) !== $n || $fiber->resume(1) !== null || $fiber->getReturn() !== $n + 1) {
        $wrong[] = 'Fiber';
    }
    try {
        throw new LogicException("n$n");
    } catch (LogicException $e) {
        if ($e->getMessage() !== "n$n") {
            $wrong[] = 'exception';
        }
    } finally {
        $text = str_repeat('a', $n) . $round;
    }
    if (strlen($text) !== $n + 1) {
        $wrong[] = 'text';
    }
    Ends::$count = 0;
    $one = new Ends();
    $one->self = $one;
    unset($one);
    gc_collect_cycles();
    if (Ends::$count !== 1) {
        $wrong[] = 'destructor';
    }
    $float = 0.5 + $n;
    foreach ([1.5, 2.5] as $factor) {
        $float *= $factor;
    }
    if (abs($float - (0.5 + $n) * 3.75) > 1e-9) {
        $wrong[] = 'float';
    }
}
register_shutdown_function(function () use ($n): void {
    echo " end $n";
});
echo "$n: ", implode(', ', $wrong) ?: 'right';
exit;
