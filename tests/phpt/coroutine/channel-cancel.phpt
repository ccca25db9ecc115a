--TEST--
A cancelled waiter leaves the queue: what is sent later goes to the next, what it would have sent to nobody
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Channel;
use function Weft\go;

function receiver(Channel $channel, string $name): Closure
{
    return function () use ($channel, $name): void {
        try {
            echo "$name got " . $channel->receive() . "\n";
        } catch (CancelledError) {
            echo "$name was cancelled\n";
        }
    };
}

foreach ([0, 1] as $capacity) {
    echo "capacity $capacity\n";
    $channel = new Channel($capacity);
    $first = go(receiver($channel, 'first'));
    $second = go(receiver($channel, 'second'));
    usleep(1000);
    $first->cancel();
    $channel->send('after the cancellation');
    usleep(1000);
}

// A cancelled sender sends nothing.
$channel = new Channel();
$sender = go(function () use ($channel): void {
    $channel->send('never');
});
usleep(1000);
$sender->cancel();
go(fn () => $channel->send('instead'));
usleep(1000);
echo $channel->receive(), "\n";
--EXPECT--
capacity 0
first was cancelled
second got after the cancellation
capacity 1
first was cancelled
second got after the cancellation
instead
--STDERR--

