<?php

/* What the loop reports of its callbacks, each type disabled, enabled and cancelled; streams that fail; signals in
 * order. */

declare(strict_types=1);

use Revolt\EventLoop\CallbackType;

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/revolt/contract.php';

$loop = loop();
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$calls = 0;
$count = static function () use (&$calls): void {
    ++$calls;
};
$types = [
    'Defer' => fn (Closure $call) => $loop->defer($call),
    'Delay' => fn (Closure $call) => $loop->delay(0.001, $call),
    'Repeat' => fn (Closure $call) => $loop->repeat(0.001, $call),
    'Readable' => fn (Closure $call) => $loop->onReadable($a, $call),
    'Writable' => fn (Closure $call) => $loop->onWritable($b, $call),
    'Signal' => fn (Closure $call) => $loop->onSignal(SIGUSR1, $call),
];
/** Whether it is enabled, referenced, and in the list. */
$state = static fn (string $id) => json_encode([
    $loop->isEnabled($id),
    $loop->isReferenced($id),
    in_array($id, $loop->getIdentifiers(), true),
]);
foreach ($types as $type => $register) {
    $id = $register($count);
    echo $loop->getType($id) === constant(CallbackType::class . "::$type") ? $type : 'another type', ' ', $state($id);
    $loop->disable($loop->disable($id));
    echo ' disabled ', $state($id);
    $loop->unreference($id);
    $loop->enable($loop->enable($id));
    echo ' enabled ', $state($id);
    $loop->disable($id);
    $loop->cancel($id);
    $loop->cancel($id);
    echo ' cancelled ', json_encode($loop->getIdentifiers()), "\n";
}
// Two of each, one disabled and one cancelled: neither is called.
foreach ($types as $register) {
    $loop->disable($register($count));
    $loop->cancel($register($count));
}
$loop->defer(static function (): void {
});
$loop->run();
echo "$calls calls, ", count($loop->getIdentifiers()), " registered\n";
foreach (['enable', 'reference', 'getType', 'isEnabled', 'isReferenced'] as $method) {
    echo strstr(thrown(fn () => $loop->$method('nobody')), ':', true), ' ';
}
echo json_encode([$loop->disable('nobody'), $loop->unreference('nobody')]), "\n";
array_map($loop->cancel(...), $loop->getIdentifiers());

// The arguments of callbacks.
$given = static function (mixed ...$arguments) use ($loop, $a, &$id): void {
    $loop->cancel($arguments[0]);
    echo count($arguments), ' ', json_encode([$arguments[0] === $id, ($arguments[1] ?? null) === $a]), "\n";
};
foreach (['Defer', 'Delay', 'Repeat'] as $type) {
    $id = $types[$type]($given);
    $loop->run();
}
fwrite($b, 'x');
$id = $loop->onReadable($a, $given);
$loop->run();
fread($a, 1);

// A callback that was disabled when its event came is called once enabled, as long as the event lasts.
fwrite($b, 'y');
$id = $loop->onReadable($a, static function (string $id, $stream) use ($loop): void {
    $loop->cancel($id);
    echo 'read ', fread($stream, 1), "\n";
});
$loop->disable($id);
$loop->delay(0.005, static function () use ($loop, $id): void {
    $loop->enable($id);
});
$loop->run();

// A refused connection is writable or broken; in any case the loop no longer waits for it.
$listener = stream_socket_server('tcp://127.0.0.1:0');
$address = stream_socket_get_name($listener, false);
fclose($listener);
$refused = @stream_socket_client("tcp://$address", $error, $message, 5, STREAM_CLIENT_CONNECT | STREAM_CLIENT_ASYNC_CONNECT);
if ($refused) {
    $loop->onWritable($refused, static function (string $id) use ($loop): void {
        $loop->cancel($id);
    });
    $loop->run();
}
echo "refused\n";

// Failures also leave run() from stream and signal callbacks, and each callback of a signal is called, in order.
$loop->onWritable($b, static function (string $id) use ($loop): void {
    $loop->cancel($id);
    throw new Exception('of a stream');
});
echo thrown(fn () => $loop->run()) !== '' ? "thrown\n" : '';
$order = '';
foreach (['1', '2', '3'] as $number) {
    $loop->onSignal(SIGUSR2, static function (string $id, int $signal) use ($loop, $number, &$order): void {
        $loop->cancel($id);
        $order .= "$number:" . ($signal === SIGUSR2 ? 'USR2 ' : "$signal ");
    });
}
$off = $loop->disable($loop->onSignal(SIGUSR2, $count));
$loop->delay(0.001, static fn () => posix_kill(getmypid(), SIGUSR2) ? null : null);
$loop->run();
echo $order, $calls, " calls\n";
$loop->cancel($off);
echo json_encode($loop->getIdentifiers()), ' ', json_encode($loop->isRunning()), ' ', json_encode($loop->getHandle()), "\n";

__halt_compiler();
Defer [true,true,true] disabled [false,true,true] enabled [true,false,true] cancelled []
Delay [true,true,true] disabled [false,true,true] enabled [true,false,true] cancelled []
Repeat [true,true,true] disabled [false,true,true] enabled [true,false,true] cancelled []
Readable [true,true,true] disabled [false,true,true] enabled [true,false,true] cancelled []
Writable [true,true,true] disabled [false,true,true] enabled [true,false,true] cancelled []
Signal [true,true,true] disabled [false,true,true] enabled [true,false,true] cancelled []
0 calls, 6 registered
Revolt\EventLoop\InvalidCallbackError Revolt\EventLoop\InvalidCallbackError Revolt\EventLoop\InvalidCallbackError Revolt\EventLoop\InvalidCallbackError Revolt\EventLoop\InvalidCallbackError ["nobody","nobody"]
1 [true,false]
1 [true,false]
1 [true,false]
2 [true,true]
read y
refused
thrown
1:USR2 2:USR2 3:USR2 0 calls
[] false null
