--TEST--
Coroutine: waits of one's own, ended once, by anybody; the list says who waits on what since when and where; interrupt()
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Channel;
use Weft\Coroutine;
use function Weft\go;

function sleeper(): void
{
    Coroutine::park(Coroutine::prepare('a bell'), 60.0);
}

$wait = 0;
$parked = go(function () use (&$wait): array {
    $wait = Coroutine::prepare('somebody');
    $first = Coroutine::park($wait, 60.0);

    return [$first, Coroutine::park(Coroutine::prepare('nobody'), 0.001)];
});
Coroutine::yield();
var_dump(Coroutine::wake($wait), Coroutine::wake($wait), $parked->await(), Coroutine::wake($wait), Coroutine::wake(0));
// It ended before it was parked, so it does not wait.
$wait = Coroutine::prepare('itself');
var_dump(Coroutine::wake($wait), Coroutine::park($wait));
try {
    Coroutine::park(12345);
} catch (Error $e) {
    echo $e->getMessage(), "\n";
}

$sleeper = go(sleeper(...));
$reader = go(fn () => (new Channel())->receive());
do {
    usleep(2_000);
    $waiting = array_filter(Coroutine::list(), fn (array $one) => $one['waiting_seconds'] > 0.001);
} while (count($waiting) < 2);
foreach (Coroutine::list() as $one) {
    $name = match ($one['id']) {
        Coroutine::id() => 'main',
        $sleeper->id() => 'sleeper',
        $reader->id() => 'reader',
    };
    $functions = array_column($one['trace'], 'function');
    $who[$name] = [
        $one['task'] === ['sleeper' => $sleeper, 'reader' => $reader, 'main' => null][$name],
        $one['seconds'] >= 0.002 && $one['seconds'] < 60,
        preg_replace('/#\d+/', '#', (string) $one['waiting_on']),
        ($one['waiting_seconds'] > 0.001) === ($name !== 'main'),
        in_array(['sleeper' => 'sleeper', 'reader' => 'receive', 'main' => 'list'][$name], $functions, true),
    ];
}
ksort($who);
foreach ($who as $name => $facts) {
    echo $name, ' ', json_encode($facts), "\n";
}
var_dump(Coroutine::interrupt($sleeper->id(), 'wake up'), Coroutine::interrupt($reader->id()), Coroutine::interrupt(999_999));
foreach ([$sleeper, $reader] as $task) {
    try {
        $task->await();
    } catch (CancelledError $e) {
        echo $e->getMessage(), "\n";
    }
}
var_dump(Coroutine::interrupt($sleeper->id()), count(Coroutine::list()));
--EXPECT--
bool(true)
bool(false)
array(2) {
  [0]=>
  bool(true)
  [1]=>
  bool(false)
}
bool(false)
bool(false)
bool(true)
bool(true)
This wait is not open: Coroutine::park() must follow Coroutine::prepare(), with nothing between that waits itself
main [true,true,"",true,true]
reader [true,true,"Weft\\Channel #",true,true]
sleeper [true,true,"a bell",true,true]
bool(true)
bool(true)
bool(false)
The task was cancelled: wake up
The task was cancelled
bool(false)
int(1)
