--TEST--
Process::run() computes in another process while this one goes on
--WEFT-ONLY--
--FILE--
<?php
use Weft\Process;
use function Weft\go;
use function Weft\parallel;

$here = getmypid();
$offset = 40;
$ticks = 0;
$ticker = go(function () use (&$ticks): void {
    while (true) {
        usleep(500);
        $ticks++;
    }
});
$enough = tempnam(sys_get_temp_dir(), 'enough');
go(function () use (&$ticks, $enough): void {
    while (file_get_contents($enough) !== 'begun') {
        usleep(500);
    }
    for ($then = $ticks; $ticks < $then + 6;) {
        usleep(500);
    }
    unlink($enough);
});
[$there, $sum] = Process::run(function () use ($offset, $enough): array {
    file_put_contents($enough, 'begun');
    // It counts after the file is gone: how often it looked before says how busy the machine was.
    while (file_exists($enough)) {
        clearstatcache();
    }
    for ($sum = $offset; $sum < 42;) {
        $sum++;
    }

    return [getmypid(), $sum];
});
$ticker->cancel();
var_dump($there !== $here, $sum, $ticks > 5);

// What it changes, it changes there.
$changed = 'here';
Process::run(function () use (&$changed): void {
    $changed = 'there';
});
echo $changed, "\n";

// Any value that can be serialized, of any size.
$large = Process::run(fn (): array => ['bytes' => str_repeat('x', 5_000_000), 'when' => new DateTimeImmutable('2020-02-02')]);
var_dump(strlen($large['bytes']), $large['when']->format('Y-m-d'), Process::run(fn () => null), Process::run(fn () => false));

echo json_encode(parallel([
    'a' => fn () => Process::run(fn () => 'one'),
    'b' => fn () => Process::run(fn () => 'two'),
    'c' => fn () => Process::run(fn () => 'three'),
])), "\n";
// No child is left.
var_dump(pcntl_waitpid(-1, $status, WNOHANG));
--EXPECT--
bool(true)
int(42)
bool(true)
here
int(5000000)
string(10) "2020-02-02"
NULL
bool(false)
{"a":"one","b":"two","c":"three"}
int(-1)
--STDERR--

