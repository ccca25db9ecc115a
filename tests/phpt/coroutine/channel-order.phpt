--TEST--
A channel keeps the order, holds its capacity, and lets senders wait beyond it
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use function Weft\go;

$channel = new Channel(2);
go(function () use ($channel): void {
    foreach (range(1, 5) as $i) {
        $channel->send($i);
        echo "sent $i\n";
    }
    $channel->close();
});
usleep(1000);
echo count($channel), " wait\n";
foreach ($channel as $value) {
    echo "got $value\n";
    usleep(1000);
}
var_dump(count($channel), $channel->closed(), $channel->capacity);
--EXPECT--
sent 1
sent 2
2 wait
got 1
sent 3
got 2
sent 4
got 3
sent 5
got 4
got 5
int(0)
bool(true)
int(2)
--STDERR--

