--TEST--
A timeout ends a wait on either side; who has given up is given nothing
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use Weft\TimeoutException;
use function Weft\go;

$channel = new Channel();
foreach ([0, 0.001] as $timeout) {
    try {
        $channel->receive($timeout);
    } catch (TimeoutException $late) {
        echo $late->getMessage(), "\n";
    }
    var_dump($channel->send('lost?', $timeout));
}
// The timed-out waits leave nothing behind: this value meets this receiver.
go(fn () => $channel->send('here'));
var_dump($channel->receive(30.0));

// Thousands of waits that timed out leave nothing in the channel.
for ($i = 0; $i < 20; $i++) {
    $channel->send($i, 0.00001);
}
$before = memory_get_usage();
for ($i = 0; $i < 300; $i++) {
    $channel->send($i, 0.00001);
    try {
        $channel->receive(0.00001);
    } catch (TimeoutException) {
    }
    Channel::select(['in' => $channel, 'out' => [$channel, $i]], 0.00001);
}
echo memory_get_usage() - $before < 5000 ? 'no growth' : 'it grew', "\n";
--EXPECT--
Nothing was received within 0 seconds
bool(false)
Nothing was received within 0.001 seconds
bool(false)
string(4) "here"
no growth
--STDERR--

