--TEST--
A wait group waits until all are done, for as long as it is told
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Channel;
use Weft\Coroutine;
use Weft\WaitGroup;
use function Weft\go;

$group = new WaitGroup();
var_dump($group->wait(), count($group));
$gate = new Channel();
foreach ([1, 2, 3] as $i) {
    $group->add();
    go(function () use ($group, $gate): void {
        echo $gate->receive(), " done\n";
        $group->done();
    });
}
var_dump($group->wait(0), $group->wait(0.0001));
$other = go($group->wait(...));
$cancelled = go($group->wait(...));
Coroutine::yield();
$cancelled->cancel();
foreach ([1, 2, 3] as $i) {
    $gate->send($i);
}
var_dump($group->wait(30.0), $other->await(), count($group));
try {
    $cancelled->await();
} catch (CancelledError $error) {
    echo get_class($error), "\n";
}
$group->add(2);
foreach ([fn () => $group->add(-3), fn () => new WaitGroup(-1)] as $wrong) {
    try {
        $wrong();
    } catch (ValueError $error) {
        echo $error->getMessage(), "\n";
    }
}
--EXPECT--
bool(true)
int(0)
bool(false)
bool(false)
1 done
2 done
3 done
bool(true)
bool(true)
int(0)
Weft\CancelledError
WaitGroup: the count is 2; it cannot be changed by -3
WaitGroup: the count is -1; it cannot be changed by 0
--STDERR--

