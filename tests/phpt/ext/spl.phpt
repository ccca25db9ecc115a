--TEST--
SPL structures and iterators with waits in between
--FILE--
<?php
$heap = new class extends SplHeap { protected function compare($a, $b): int { usleep(10); return $b <=> $a; } };
foreach ([3, 1, 2] as $n) { $heap->insert($n); }
echo implode(iterator_to_array($heap, false)), ' ';
$queue = new SplPriorityQueue;
foreach (['low' => 1, 'high' => 9] as $name => $priority) { $queue->insert($name, $priority); }
echo $queue->extract(), ' ';
$it = new LimitIterator(new InfiniteIterator(new CallbackFilterIterator(new ArrayIterator([1, 2, 3, 4]), function ($v) { usleep(10); return $v % 2; })), 0, 5);
echo implode(iterator_to_array($it, false)), ' ';
$storage = new SplObjectStorage;
$storage[$o = new stdClass] = 'data';
echo $storage[$o], ' ', (new SplFixedArray(3))->getSize(), "\n";
--EXPECT--
123 high 13131 data 3
