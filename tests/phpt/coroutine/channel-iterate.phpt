--TEST--
A channel is iterated until it is closed and empty, by foreach and by its iterator; what an iterator has received is gone
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use function Weft\go;

$channel = new Channel(2);
go(function () use ($channel): void {
    foreach (['a', 'b', 'c', 'd', 'e', 'f'] as $value) {
        $channel->send($value);
    }
    $channel->close();
});
foreach ($channel as $key => $value) {
    echo "$key: $value\n";
    if ($value === 'b') {
        break;
    }
}
$iterator = $channel->getIterator();
echo get_class($iterator) === get_class($channel->getIterator()) ? 'an iterator' : 'another', ' ', $iterator->current(), ' ', $iterator->current(), "\n";
$iterator->next();
echo $iterator->key(), ' ', $iterator->current(), "\n";
echo implode(',', iterator_to_array($channel, false)), "\n";
foreach ($channel as $value) {
    echo "not reached\n";
}
var_dump(iterator_to_array($channel), count($channel));

// An exception of the receiver's wait leaves the loop.
$task = go(function (): void {
    foreach (new Channel() as $value) {
        echo "not reached\n";
    }
});
usleep(1000);
$task->cancel('enough');
try {
    $task->await();
} catch (Weft\CancelledError $cancelled) {
    echo $cancelled->getMessage(), "\n";
}
try {
    foreach (new Channel() as &$value) {
    }
} catch (Error $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
0: a
1: b
an iterator c c
1 d
e,f
array(0) {
}
int(0)
The task was cancelled: enough
An iterator cannot be used with foreach by reference
--STDERR--
