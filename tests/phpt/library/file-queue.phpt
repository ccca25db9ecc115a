--TEST--
A queue of files gives records in order, again until they are acknowledged, and file by file after its owner's end
--LIBRARY--
--FILE--
<?php
use Weft\Queue\FileQueue;
use Weft\Queue\QueueException;
use Weft\Queue\QueueFull;

$records = fn (array $messages): string => json_encode(array_column($messages, 'record'));
$numbers = fn (FileQueue $queue): string => "{$queue->depth()} deep, {$queue->buried()} dead, " . ($queue->lag() > 0 ? 'old' : 'empty');

$queue = new FileQueue('queue', depth_max: 4, full_s_max: 0.0, record_bytes_max: 8);
echo $numbers($queue), "\n";
foreach (['a', 'b', 'c', 'd'] as $record) {
    $queue->append($record);
}
echo $numbers($queue), "\n";
try {
    $queue->append('e');
} catch (QueueFull $full) {
    echo get_parent_class($full) === QueueException::class ? 'full' : 'strange', "\n";
}
try {
    $queue->append('123456789');
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
$messages = $queue->take(2, 0.0);
echo $records($messages), ' then again ', $records($queue->take(5, 0.0)), "\n";
var_dump($messages[0]->at > microtime(true) - 60);
$queue->acknowledge([$messages[0]]);
$queue->bury($messages[1], 'unreadable');
echo $numbers($queue), ', next ', $records($queue->take(1, 0.0)), "\n";
$letter = json_decode(file_get_contents('queue/dead.jsonl'), true);
echo $letter['record'], ' ', $letter['reason'], "\n";

unset($queue, $messages);
gc_collect_cycles(); // its files are nobody's from here on
$queue = new FileQueue('queue');
$left = $queue->take(10, 0.0);
echo $records($left), "\n"; // the whole file: what was acknowledged in it comes again
$queue->acknowledge($left);
echo $numbers($queue), "\n";
try {
    new FileQueue('/proc/nothing/here');
} catch (QueueException $failure) {
    echo substr($failure->getMessage(), 0, 53), "\n";
}
--EXPECT--
0 deep, 0 dead, empty
4 deep, 0 dead, old
full
A record has at most 8 bytes, not 9
["a","b"] then again ["a","b"]
bool(true)
2 deep, 1 dead, old, next ["c"]
b unreadable
["a","b","c","d"]
0 deep, 1 dead, empty
Cannot make the queue's directory /proc/nothing/here:
