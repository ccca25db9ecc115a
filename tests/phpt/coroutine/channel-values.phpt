--TEST--
What a channel holds: any number of any values in order, freed with it, seen by the garbage collector; its capacity is fixed
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use function Weft\go;

final class Noisy
{
    public ?Channel $channel = null;

    public function __construct(private string $name) {}

    public function __destruct()
    {
        echo "{$this->name} gone\n";
    }
}

// It grows as it is filled, also when its first value is not at its start.
$channel = new Channel(1000);
$next = $expected = 0;
for ($round = 1; $round <= 40; $round++) {
    for ($i = 0; $i < $round; $i++) {
        $channel->send([$next++]);
    }
    for ($i = 0; $i < $round - 7; $i++) {
        $channel->receive() === [$expected++] || print("out of order\n");
    }
}
echo count($channel), ' = ', $next - $expected, "\n";
while (count($channel) > 0) {
    $channel->receive() === [$expected++] || print("out of order\n");
}

$channel->send(new Noisy('held'));
$channel->send($variable = 'copied');
$variable = 'changed';
$channel->receive();
echo $channel->receive(), "\n";
$channel->send(new Noisy('left'));
unset($channel);
echo "without the channel\n";

$inner = new Noisy('in a cycle');
$inner->channel = new Channel(1);
$inner->channel->send($inner);
unset($inner);
$collected = gc_collect_cycles();
echo 'collected ', $collected > 0 ? 'something' : 'nothing', "\n";

$channel = new Channel(1);
foreach ([fn () => $channel->capacity = 5, fn () => clone $channel, fn () => serialize($channel), fn () => $channel->__construct(3)] as $wrong) {
    try {
        $wrong();
        echo "done\n";
    } catch (Throwable $error) {
        echo get_class($error), ': ', $error->getMessage(), "\n";
    }
}

// A case of select() that is replaced through a reference while it waits is sent as it was.
$case = [$channel, 'as it was'];
$channel->send('full');
go(function () use (&$case, $channel): void {
    usleep(1000);
    $case = null;
    echo $channel->receive(), "\n";
});
echo json_encode(Channel::select(['case' => &$case])), ' ', $channel->receive(), "\n";
--EXPECT--
259 = 259
held gone
copied
left gone
without the channel
in a cycle gone
collected something
Error: Cannot modify readonly property Weft\Channel::$capacity
Error: Trying to clone an uncloneable object of class Weft\Channel
Exception: Serialization of 'Weft\Channel' is not allowed
Error: Cannot modify readonly property Weft\Channel::$capacity
full
["case",null] as it was
--STDERR--
