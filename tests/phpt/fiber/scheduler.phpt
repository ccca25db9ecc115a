--TEST--
A round-robin scheduler written in PHP
--FILE--
<?php
$queue = new SplQueue;
foreach (['a', 'b', 'c'] as $name) {
    $queue->enqueue(new Fiber(function () use ($name) {
        for ($i = 1; $i <= 3; $i++) {
            echo $name, $i, ' ';
            Fiber::suspend();
        }
    }));
}
while (!$queue->isEmpty()) {
    $fiber = $queue->dequeue();
    $fiber->isStarted() ? $fiber->resume() : $fiber->start();
    if (!$fiber->isTerminated()) {
        $queue->enqueue($fiber);
    }
}
echo "\n";
--EXPECT--
a1 b1 c1 a2 b2 c2 a3 b3 c3
