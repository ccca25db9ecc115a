--TEST--
The sleep family waits as long as asked and returns what php returns
--FILE--
<?php
function waited(callable $do, float $seconds): void
{
    $start = hrtime(true);
    $result = $do();
    $passed = (hrtime(true) - $start) / 1e9;
    echo $passed >= $seconds ? 'waited' : "only $passed s", ' ', var_export($result, true), "\n";
}
waited(fn () => sleep(0), 0);
waited(fn () => usleep(20000), 0.02);
waited(fn () => time_nanosleep(0, 20000000), 0.02);
waited(function () {
    // If the time has passed before the call, it waits for nothing and returns false.
    do { $slept = @time_sleep_until(microtime(true) + 0.02); } while (!$slept);
    return $slept;
}, 0.019);
try { sleep(-1); } catch (ValueError $e) { echo $e->getMessage(), "\n"; }
try { usleep(-1); } catch (ValueError $e) { echo $e->getMessage(), "\n"; }
--EXPECT--
waited 0
waited NULL
waited true
waited true
sleep(): Argument #1 ($seconds) must be greater than or equal to 0
usleep(): Argument #1 ($microseconds) must be greater than or equal to 0
