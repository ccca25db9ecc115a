--TEST--
With capacity 0 sender and receiver meet; the longest waiter comes first on both sides
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use function Weft\go;

$channel = new Channel();
foreach (['a', 'b', 'c'] as $name) {
    go(function () use ($channel, $name): void {
        $channel->send($name);
        echo "$name was received\n";
    });
}
usleep(1000);
echo count($channel), " held\n";
echo $channel->receive(), $channel->receive(), $channel->receive(), "\n";
usleep(1000);
foreach ([1, 2, 3] as $number) {
    go(function () use ($channel, $number): void {
        echo "receiver $number got " . $channel->receive() . "\n";
    });
}
usleep(1000);
foreach (['x', 'y', 'z'] as $value) {
    $channel->send($value);
}
usleep(1000);
var_dump($channel->send(null, 0), $channel->send(null, 0.001));
--EXPECT--
0 held
abc
a was received
b was received
c was received
receiver 1 got x
receiver 2 got y
receiver 3 got z
bool(false)
bool(false)
--STDERR--

