--TEST--
A writer hands on batches, tries again what may pass, and finds the record that never will
--WEFT-ONLY--
--INI--
error_log=/dev/null
log_errors=1
--FILE--
<?php
use Weft\Queue\FileQueue;
use Weft\WriteBehind;

$written = [];
$away = 2;
$writer = new WriteBehind(new FileQueue('queue'), function (array $records) use (&$written, &$away): void {
    if ($away-- > 0) {
        throw new RuntimeException('the database is away');
    }
    if (in_array('bad', $records, true)) {
        throw new ValueError('not a number');
    }
    $written[] = $records;
}, batch_max: 4, backoff_s: 0.001, backoff_s_max: 0.002);
foreach (['a', 'b', 'bad', 'c', 'd'] as $record) {
    $writer->append($record);
}
$numbers = fn (): string => json_encode(array_diff_key($writer->metrics(), ['lag_s' => 0]));
echo $numbers(), "\n";
$writer->drain();
echo json_encode($written), "\n", $numbers(), "\n";
echo json_decode(file_get_contents('queue/dead.jsonl'))->reason, "\n";

$task = $writer->start();
$writer->append('e');
while ($writer->metrics()['written'] < 5) {
    usleep(1000);
}
$writer->stop();
$task->await();
echo json_encode(end($written)), ' ', json_encode($task->ended()), "\n";
--EXPECT--
{"depth":5,"written":0,"batches":0,"retries":0,"dead":0,"failure":null}
[["a","b"],["c"],["d"]]
{"depth":0,"written":4,"batches":3,"retries":2,"dead":1,"failure":null}
not a number
["e"] true
