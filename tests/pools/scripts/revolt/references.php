<?php

/* What keeps the loop running: enabled and referenced callbacks of each type; unreferenced ones run beside them. */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/revolt/contract.php';

$loop = loop();
$say = static fn (string $text) => static function () use ($text): void {
    echo "$text\n";
};
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$nothing = static function (): void {
    echo 'called ';
};
/** Whether the loop ends by itself within a second. */
$ends = static function () use ($loop): string {
    $watch = $loop->unreference($loop->delay(1.0, static fn () => throw new LogicException('the loop waits')));
    $loop->run();
    $loop->cancel($watch);

    return 'ends';
};
$types = [
    'delay' => fn () => $loop->delay(60.0, $nothing),
    'repeat' => fn () => $loop->repeat(60.0, $nothing),
    'readable' => fn () => $loop->onReadable($a, $nothing),
    'signal' => fn () => $loop->onSignal(SIGUSR1, $nothing),
];
foreach ($types as $type => $register) {
    $id = $register();
    $loop->unreference($id);
    echo "$type: unreferenced ", $ends();
    $loop->reference($id);
    $loop->unreference($id);
    echo ', referenced and not again ', $ends();
    $loop->reference($id);
    $loop->disable($id);
    echo ', disabled ', $ends();
    $loop->enable($id);
    $loop->defer(static fn () => $loop->cancel($id));
    echo ', cancelled in a tick ', $ends(), "\n";
}

$loop->unreference($loop->defer($nothing));
$loop->defer(static function (): void {
});
echo 'an unreferenced deferred callback is ', $ends() === 'ends' ? "too\n" : '';
$writable = $loop->unreference($loop->onWritable($b, $nothing));
$loop->defer(static function () use ($loop, $writable): void {
    $loop->defer(static fn () => $loop->cancel($writable));
});
echo 'an unreferenced stream is ', $ends() === 'ends' ? "too\n" : '';

// A timer that expires while the loop does not run is due at once; its time counts from when it was registered or
// enabled.
$loop->delay(0.03, $say('late'));
usleep(60_000); // the loop does not run
$began = hrtime(true);
$id = $loop->delay(0.02, $say('from its enabling on'));
$loop->disable($id);
usleep(30_000);
$loop->enable($id);
$enabled = hrtime(true);
$loop->run();
echo hrtime(true) - $enabled >= 20_000_000 ? "not early\n" : "early\n";
// Durations that exceed every wait.
$loop->unreference($loop->delay(PHP_INT_MAX, $nothing));
$loop->unreference($loop->repeat((float) PHP_INT_MAX, $nothing));
$loop->delay(0.001, $say('large numbers are no matter'));
$loop->run();
foreach ($loop->getIdentifiers() as $id) {
    $loop->cancel($id);
}

// A cancelled callback is not kept: neither its closure nor what it holds.
$kept = new WeakMap();
$register = [
    fn ($call) => $loop->defer($call),
    fn ($call) => $loop->delay(60.0, $call),
    fn ($call) => $loop->repeat(60.0, $call),
    fn ($call) => $loop->onReadable($a, $call),
    fn ($call) => $loop->onWritable($b, $call),
    fn ($call) => $loop->onSignal(SIGUSR2, $call),
];
foreach ($register as $how) {
    $object = new stdClass();
    $kept[$object] = true;
    $ids = [];
    for ($i = 0; $i < 100; $i++) {
        $ids[] = $how(static fn () => $object);
    }
    $loop->defer(static function () use ($loop, $ids): void {
        array_map($loop->cancel(...), $ids);
    });
    unset($object);
    $loop->unreference($loop->delay(60.0, $nothing));
    foreach ($ids as $id) {
        $loop->disable($id);
    }
    $loop->run();
}
unset($ids, $how);
foreach ($loop->getIdentifiers() as $id) {
    $loop->cancel($id);
}
gc_collect_cycles();
echo count($kept), " objects and ", count($loop->getIdentifiers()), " callbacks are kept\n";

__halt_compiler();
delay: unreferenced ends, referenced and not again ends, disabled ends, cancelled in a tick ends
repeat: unreferenced ends, referenced and not again ends, disabled ends, cancelled in a tick ends
readable: unreferenced ends, referenced and not again ends, disabled ends, cancelled in a tick ends
signal: unreferenced ends, referenced and not again ends, disabled ends, cancelled in a tick ends
an unreferenced deferred callback is called too
an unreferenced stream is called too
late
from its enabling on
not early
large numbers are no matter
0 objects and 0 callbacks are kept
