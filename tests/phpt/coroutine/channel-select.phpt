--TEST--
select(): the first that is ready, in order; receiving, sending, waiting, timeout
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use function Weft\go;

$a = new Channel(1);
$b = new Channel(1);
$c = new Channel(1);
$say = fn (?array $case) => print(json_encode($case) . "\n");

$a->send('from a');
$b->send('from b');
$say(Channel::select(['b' => $b, 'a' => $a]));      // both are ready: the order decides
$say(Channel::select(['b' => $b, 'a' => $a]));
$say(Channel::select(['send' => [$b, 'sent'], 'a' => $a]));
$say(Channel::select(['full' => [$b, 'no room'], 'a' => $a], 0));
$say(Channel::select(['full' => [$b, 'no room'], 'c' => [$c, 'room'], 'b' => $b]));
$say(Channel::select([$b, $c], 0));
$say(Channel::select([$b, $c], 0));
$say(Channel::select([$a, $b, $c], 0.001));

// It waits for whichever comes first.
go(function () use ($b): void {
    usleep(1000);
    $b->send('later');
});
$say(Channel::select(['a' => $a, 'b' => $b, 'c' => $c], 30.0));
$a->send('full');
go(function () use ($a): void {
    usleep(1000);
    echo 'made room by taking ', $a->receive(), "\n";
});
$say(Channel::select(['a' => [$a, 'next'], 'b' => $b], 30.0));
$say([$a->receive(0)]);

// Two coroutines that select on each other's channels meet.
$ping = new Channel();
$pong = new Channel();
go(fn () => $say(Channel::select(['ping' => [$ping, 'ping'], 'pong' => $pong])));
$say(Channel::select(['ping' => $ping, 'pong' => [$pong, 'pong']]));
usleep(1000);
--EXPECT--
["b","from b"]
["a","from a"]
["send",null]
null
["c",null]
[0,"sent"]
[1,"room"]
null
["b","later"]
made room by taking full
["a",null]
["next"]
["ping",null]
["ping","ping"]
--STDERR--

