--TEST--
Coroutines that all wait for each other: who waits on what since when, with stacks, and an error in {main}
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use Weft\DeadlockError;
use Weft\Mutex;
use Weft\WaitGroup;
use function Weft\go;

function reads(Channel $channel): void
{
    $channel->receive();
}

$channel = new Channel();
$mutex = new Mutex();
$mutex->lock();
go(reads(...), $channel);
go(fn () => $mutex->lock());
try {
    (new WaitGroup(1))->wait();
} catch (DeadlockError $error) {
    echo get_class($error), "\n";
}
// {main} can still resolve it.
$channel->send('at last');
$mutex->unlock();
echo "end\n";
--EXPECT--
Weft\DeadlockError
end
--STDERR--
Deadlock: all coroutines wait for each other.
%aWeft\Mutex #%d since %f s
%aWeft\Channel #%d since %f s
%areads() at %a{main} waits for Weft\WaitGroup%a
