<?php

/* Ticks: a callback enabled in one tick is called in the next; the order of the kinds; stopping and running again. */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/revolt/contract.php';

$loop = loop();
$said = [];
$say = static function (string $text) use (&$said): Closure {
    return static function () use ($text, &$said): void {
        $said[] = $text;
    };
};
$told = static function () use (&$said): void {
    echo implode(' ', $said), "\n";
    $said = [];
};

// Disabled and enabled again in one callback: not called in this tick.
$id = $loop->defer($say('twice enabled'));
$loop->disable($id);
$loop->defer(static function () use ($loop, $id, $say): void {
    $say('first')();
    $loop->enable($id);
    $loop->defer($say('second tick'));
});
$loop->defer($say('same tick'));
$loop->run();
$told();

// A deferred callback that an earlier one disables is not called until it is enabled again.
$second = null;
$loop->defer(static function () use ($loop, &$second, $say): void {
    $loop->disable($second);
    $loop->delay(0.002, static function () use ($loop, &$second): void {
        $loop->enable($second);
    });
    $say('disables')();
});
$second = $loop->defer($say('enabled again'));
$loop->run();
$told();

// Microtasks run before the next callback, also those queued by a microtask, whatever it throws.
$loop->defer(static function () use ($loop, $say): void {
    $say('a')();
    $loop->queue(static function () use ($loop, $say): void {
        $say('a1')();
        $loop->queue($say('a2'));
    });
    $loop->queue($say('a3'));
});
$loop->defer($say('b'));
$loop->queue($say('before all'));
$loop->run();
$told();
$loop->queue(static fn () => throw new Exception('a microtask'));
$loop->queue($say('after a microtask that failed'));
echo thrown(fn () => $loop->run()), "\n";
$loop->run();
$told();
$held = new stdClass();
$weak = WeakReference::create($held);
$loop->queue(static function (stdClass $object) use ($loop): void {
    unset($object);
    gc_collect_cycles();
    $loop->queue(static function (): void {
        gc_collect_cycles();
    });
}, $held);
unset($held);
$loop->run();
echo $weak->get() === null ? "arguments are not kept\n" : "arguments are kept\n";

// stop(): the tick completes with the callbacks that are due; those it registers wait for the next run().
$loop->defer(static function () use ($loop, $say): void {
    $say('stops')();
    $loop->stop();
    $loop->defer($say('next run'));
});
$loop->defer($say('the tick goes on'));
$loop->delay(0.0, $say('a due timer'));
$loop->run();
$told();
$loop->run();
$told();

// Many short repeats and a long one: each keeps its time.
$counts = ['short' => 0, 'other' => 0];
foreach (array_keys($counts) as $name) {
    $loop->repeat(0.004, static function (string $id) use ($loop, $name, &$counts): void {
        if (++$counts[$name] === 5) {
            $loop->cancel($id);
        }
    });
}
$long = $loop->unreference($loop->repeat(30.0, $say('never')));
$loop->run();
echo json_encode($counts), "\n";
$loop->cancel($long);

// A callback may wait: others are called meanwhile, also its own next repeat.
$inside = $most = 0;
$loop->repeat(0.001, static function (string $id) use ($loop, &$inside, &$most): void {
    $most = max($most, ++$inside);
    if ($inside === 3) {
        $loop->cancel($id);
    }
    pause(0.02);
    --$inside;
});
$loop->run();
echo "$most at once\n";

// A failing repeat ends the run, not the repeat.
$tries = 0;
$id = $loop->repeat(0.001, static function () use (&$tries): void {
    throw new Exception('try ' . ++$tries);
});
echo thrown(fn () => $loop->run()), "; ", thrown(fn () => $loop->run()), "\n";
$loop->cancel($id);
$again = Revolt\EventLoop\UncaughtThrowable::throwingCallback(static fn () => null, new Exception('once'));
$loop->defer(static fn () => throw $again);
try {
    $loop->run();
} catch (Throwable $failure) {
    echo $failure === $again ? "as it was thrown\n" : "in another\n";
}

__halt_compiler();
first same tick twice enabled second tick
disables enabled again
before all a a1 a3 a2 b
Revolt\EventLoop\UncaughtThrowable: a callback threw: a microtask
after a microtask that failed
arguments are not kept
stops the tick goes on a due timer
next run
{"short":5,"other":5}
3 at once
Revolt\EventLoop\UncaughtThrowable: a callback threw: try 1; Revolt\EventLoop\UncaughtThrowable: a callback threw: try 2
as it was thrown
