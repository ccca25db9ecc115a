--TEST--
A receiver that is cancelled in the moment it is given the only value leaves it in the channel
--WEFT-ONLY--
--FILE--
<?php
use Weft\CancelledError;
use Weft\Channel;
use function Weft\go;

$lost = 0;
foreach (['receive', 'select', 'iterate'] as $how) {
    $channel = new Channel();
    $got = null;
    $task = go(function () use ($channel, $how, &$got): void {
        try {
            $got = match ($how) {
                'receive' => $channel->receive(),
                'select' => Channel::select(['it' => $channel])[1],
                'iterate' => $channel->getIterator()->current(),
            };
        } catch (CancelledError) {
        }
    });
    usleep(1000);
    var_dump($channel->send('value', 0));
    $task->cancel();
    usleep(1000);
    $got ??= $channel->receive(0);
    var_dump($got, count($channel));
}
--EXPECT--
bool(true)
string(5) "value"
int(0)
bool(true)
string(5) "value"
int(0)
bool(true)
string(5) "value"
int(0)
--STDERR--

