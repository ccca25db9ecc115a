--TEST--
A select that waits on several channels takes one value, and leaves the others in place
--WEFT-ONLY--
--FILE--
<?php
use Weft\Channel;
use function Weft\go;

$a = new Channel();
$b = new Channel();
$task = go(fn () => Channel::select(['a' => $a, 'b' => $b, 'again' => $a]));
usleep(1000);
// Both at once, before it can run: it takes only one of them.
var_dump($b->send('to b', 0), $a->send('to a', 0));
echo json_encode($task->await()), "\n";
var_dump($b->send('nobody', 0));
--EXPECT--
bool(true)
bool(false)
["b","to b"]
bool(false)
--STDERR--

