--TEST--
timeout(): interrupts the wait it finds, whatever waits; nested, the shorter one wins; what ends in time is left alone
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Channel;
use Weft\TimeoutException;
use function Weft\go;
use function Weft\timeout;

function thrown(callable $work): string
{
    try {
        return 'returned ' . json_encode($work());
    } catch (Throwable $e) {
        return $e::class . ': ' . $e->getMessage();
    }
}

echo thrown(fn () => timeout(30.0, fn () => 'in time')), "\n";
echo thrown(fn () => timeout(30.0, fn () => throw new DomainException('my own'))), "\n";
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$server = stream_socket_server('tcp://127.0.0.1:0');
$lock = fopen(__FILE__, 'r');
$other = fopen(__FILE__, 'r');
flock($other, LOCK_EX);
$waits = [
    'usleep' => fn () => usleep(60_000_000),
    'fgets' => fn () => fgets($a),
    'stream_select' => function () use ($a) {
        $read = [$a];
        $none = null;
        return stream_select($read, $none, $none, 60);
    },
    'stream_socket_accept' => fn () => stream_socket_accept($server, 60),
    'flock' => fn () => flock($lock, LOCK_EX),
    'pcntl_waitpid' => function () {
        $pid = pcntl_fork();
        if ($pid === 0) {
            sleep(60);
            exit;
        }
        try {
            return pcntl_waitpid($pid, $status);
        } finally {
            posix_kill($pid, SIGKILL);
            pcntl_waitpid($pid, $status);
        }
    },
    'channel' => fn () => (new Channel())->receive(),
    'task' => fn () => go(fn () => usleep(200_000))->await(),
    'generator' => fn () => iterator_to_array((function () {
        yield 1;
        sleep(60);
    })()),
    'fiber' => fn () => (new Fiber(fn () => sleep(60)))->start(),
    'sort' => function () {
        $list = [3, 1, 2];
        usort($list, fn ($x, $y) => sleep(60) ?: $x <=> $y);
    },
];
foreach ($waits as $name => $wait) {
    echo $name, ': ', thrown(fn () => timeout(0.01, $wait)), "\n";
}
// Cleaning up may wait; code that catches the interruption is not stopped again.
echo thrown(fn () => timeout(0.005, function () {
    try {
        sleep(60);
    } finally {
        usleep(100);
        echo 'cleaned up, ';
    }
})), "\n";
echo thrown(fn () => timeout(0.005, function () {
    try {
        sleep(60);
    } catch (CancelledError) {
        return 'made the best of it';
    }
})), "\n";
// Nested.
echo thrown(fn () => timeout(60.0, fn () => thrown(fn () => timeout(0.005, fn () => sleep(60))))), "\n";
echo thrown(fn () => timeout(0.005, fn () => timeout(60.0, fn () => sleep(60)))), "\n";
// A limit that expires while nothing waits does not affect later waits.
echo thrown(fn () => timeout(0.001, function () {
    for ($until = hrtime(true) + 3_000_000; hrtime(true) < $until;);

    return 'computed';
})), ', ', thrown(fn () => usleep(2_000)), "\n";
foreach ([0.0, -1.0, NAN] as $wrong) {
    echo thrown(fn () => timeout($wrong, fn () => null)), "\n";
}
--EXPECT--
returned "in time"
DomainException: my own
usleep: Weft\TimeoutException: Not done within 0.01 seconds
fgets: Weft\TimeoutException: Not done within 0.01 seconds
stream_select: Weft\TimeoutException: Not done within 0.01 seconds
stream_socket_accept: Weft\TimeoutException: Not done within 0.01 seconds
flock: Weft\TimeoutException: Not done within 0.01 seconds
pcntl_waitpid: Weft\TimeoutException: Not done within 0.01 seconds
channel: Weft\TimeoutException: Not done within 0.01 seconds
task: Weft\TimeoutException: Not done within 0.01 seconds
generator: Weft\TimeoutException: Not done within 0.01 seconds
fiber: Weft\TimeoutException: Not done within 0.01 seconds
sort: Weft\TimeoutException: Not done within 0.01 seconds
cleaned up, Weft\TimeoutException: Not done within 0.005 seconds
returned "made the best of it"
returned "Weft\\TimeoutException: Not done within 0.005 seconds"
Weft\TimeoutException: Not done within 0.005 seconds
returned "computed", returned null
ValueError: Weft\timeout(): Argument #1 ($seconds) must be greater than 0
ValueError: Weft\timeout(): Argument #1 ($seconds) must be greater than 0
ValueError: Weft\timeout(): Argument #1 ($seconds) must be greater than 0
