--TEST--
Timers: once, again and again, cancelled; what a callback throws is logged and ends nothing
--WEFT-ONLY--
--FILE--
<?php
use Weft\Timer;

/** Checks until the condition holds. */
function until(Closure $condition): void
{
    while (!$condition()) {
        usleep(500);
    }
}

$after = false;
Timer::after(0.004, function () use (&$after): void {
    echo "after\n";
    $after = true;
});
$never = Timer::after(0.001, fn () => print("never\n"));
var_dump($never->active(), $never->cancel(), $never->cancel(), $never->active());
$ticks = 0;
$timer = Timer::every(0.001, function (Timer $self) use (&$ticks): void {
    if (++$ticks === 3) {
        $self->cancel();
    }
    if ($ticks === 2) {
        throw new RuntimeException('a tick failed');
    }
});
until(function () use ($timer, &$after): bool {
    return !$timer->active() && $after;
});
usleep(5000);
var_dump($ticks, $timer->active(), $timer->cancel());

// Calls never overlap: a call that falls due during another one is skipped.
$inside = $most = $calls = 0;
$slow = Timer::every(0.001, function () use (&$inside, &$most, &$calls): void {
    $most = max($most, ++$inside);
    $calls++;
    usleep(5000);
    $inside--;
});
until(function () use (&$calls): bool {
    return $calls === 3;
});
$slow->cancel();
usleep(10000);
echo "$most at a time, $calls calls\n";
try {
    Timer::every(0.0, fn () => null);
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
// A pending timer keeps the script alive.
Timer::after(0.002, fn () => print("last\n"));
echo "end of main\n";
--EXPECT--
bool(true)
bool(true)
bool(false)
bool(false)
after
int(3)
bool(false)
bool(false)
1 at a time, 3 calls
Timer::every(): at least 0.001 seconds must lie between two calls, not 0
end of main
last
--STDERR--
%Athe callback of Timer::every() failed and nobody can catch it: RuntimeException: a tick failed in %s
%A
