<?php

/* The order of callbacks: microtasks at once, callbacks registered in a tick not in that tick, timers by their time. */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/revolt/contract.php';

$loop = loop();
$say = static fn (string $text) => static function () use ($text): void {
    echo "$text\n";
};

$loop->defer(static function () use ($loop, $say, &$disabled): void {
    echo "deferred\n";
    $loop->defer(static function () use ($loop, &$disabled): void {
        echo "deferred in it: the next tick\n";
        $loop->enable($disabled);
    });
    $loop->queue($say('queued in it: right after it'));
});
$loop->queue(static function (string $a, string $b): void {
    echo "queued with $a and $b\n";
}, 'one', 'two');
$loop->defer($say('deferred second'));
$never = $loop->delay(0.001, $say('never'));
$loop->cancel($never);
$count = 0;
$repeated = $loop->repeat(0.001, static function (string $id) use ($loop, &$count): void {
    if (++$count === 3) {
        $loop->cancel($id);
    }
});
$disabled = $loop->delay(0.001, static function () use ($loop, $say): void {
    echo "enabled\n";
    $loop->delay(0.02, $say('later'));
    $loop->delay(0.01, $say('sooner'));
});
$loop->disable($disabled);
$loop->unreference($loop->repeat(10.0, $say('never')));
$loop->run();
echo "repeated $count times\n";
echo json_encode($loop->isRunning()), ' ', count($loop->getIdentifiers()), " left\n";

echo thrown(fn () => $loop->enable('none')), "\n", thrown(fn () => $loop->delay(-1.0, $say(''))), "\n";
$loop->disable('none');
$loop->cancel('none');
$id = $loop->defer($say(''));
echo $loop->getType($id)->name, json_encode([$loop->isEnabled($id), $loop->isReferenced($id)]), "\n";
$loop->unreference($id);
$loop->disable($id);
echo json_encode([$loop->isEnabled($id), $loop->isReferenced($id)]), "\n";
$loop->cancel($id);
echo thrown(fn () => $loop->getType($id)), "\n";
$loop->defer(static function () use ($loop): void {
    $loop->stop();
    echo thrown(fn () => $loop->run()), "\n";
});
$loop->delay(60, $say('not awaited'));
$loop->run();
echo Revolt\EventLoop\FiberLocal::$cleared > 10 ? "locals are cleared\n" : "locals are kept\n";

__halt_compiler();
queued with one and two
deferred
queued in it: right after it
deferred second
deferred in it: the next tick
enabled
sooner
later
repeated 3 times
false 1 left
Revolt\EventLoop\InvalidCallbackError: no callback none
Error: Delay must be greater than or equal to zero
Defer[true,true]
[false,false]
Revolt\EventLoop\InvalidCallbackError: no callback j
Error: The event loop is already running
locals are cleared
