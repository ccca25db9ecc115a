--TEST--
What is freed because of an exception may wait: other coroutines begin and end meanwhile
--WEFT-ONLY--
--FILE--
<?php
use function Weft\go;

function throws(array &$tasks): void
{
    $child = popen('sleep 0.1', 'r'); // to free it is to wait for its end
    for ($n = 0; $n < 3; $n++) {
        $tasks[] = go(static fn () => $n);
    }
    throw new LogicException('thrown');
}

$tasks = [];
$first = go(static function () use (&$tasks) {
    try {
        throws($tasks);
    } catch (LogicException $e) {
        return $e->getMessage() . ' at line ' . $e->getLine();
    }
});
var_dump($first->await());
foreach ($tasks as $task) {
    var_dump($task->await());
}
$exits = go(static function () {
    $child = popen('sleep 0.1', 'r');
    $other = go(static function () {
        usleep(1000);
        throw new RuntimeException('of another');
    });
    try {
        $other->await();
    } finally {
        $kept = [$child, go(static fn () => print("began\n"))];
        unset($child);
        exit(0);
    }
});
$exits->await();
?>
--EXPECT--
string(17) "thrown at line 10"
int(0)
int(1)
int(2)
began
