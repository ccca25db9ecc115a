--TEST--
A helper runs no destructor, shutdown function or output of its parent
--WEFT-ONLY--
--FILE--
<?php
use Weft\Process;

final class Connection
{
    public ?self $cycle = null;

    public function __destruct()
    {
        echo "destructor in ", getmypid() === PARENT ? 'the parent' : 'a helper', "\n";
    }
}

define('PARENT', getmypid());
register_shutdown_function(function (): void {
    echo "shutdown function in ", getmypid() === PARENT ? 'the parent' : 'a helper', "\n";
});
ob_start();
echo "buffered once\n";
$kept = new Connection();
$garbage = new Connection();
$garbage->cycle = $garbage;
unset($garbage);
Process::run(function (): void {
    for ($i = 0; $i < 30_000; $i++) { // enough garbage for the collector to run
        $cycle = new stdClass();
        $cycle->self = $cycle;
    }
});
foreach ([fn () => 'returned', fn () => throw new Exception(), fn () => exit()] as $way) {
    try {
        Process::run($way);
    } catch (Exception) {
    }
}
echo "all ways tried\n";
gc_collect_cycles();
unset($kept);
--EXPECT--
buffered once
all ways tried
destructor in the parent
destructor in the parent
shutdown function in the parent
--STDERR--

