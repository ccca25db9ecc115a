<?php

/* Where exceptions of callbacks go: to run(), to {main}'s suspension, or to the error handler, which may wait. */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/revolt/contract.php';

$loop = loop();
$loop->defer(static fn () => throw new Exception('one'));
$loop->defer(static function (): void {
    echo "after it\n";
});
echo thrown(fn () => $loop->run()), "\n";
$loop->run();
$loop->defer(static fn () => 1);
echo thrown(fn () => $loop->run()), "\n";
$loop->queue(static fn () => throw new Exception('two'));
echo thrown(fn () => $loop->getSuspension()->suspend()), "\n";

$loop->setErrorHandler(static function (Throwable $failure): void {
    pause(0.002);
    echo 'handled: ', $failure->getMessage(), "\n";
});
$loop->defer(static fn () => throw new Exception('three'));
$loop->delay(0.004, static fn () => throw new Exception('four'));
$loop->run();
$loop->setErrorHandler(static fn () => throw new Exception('five'));
$loop->defer(static fn () => throw new Exception('six'));
echo thrown(fn () => $loop->run()), "\n";
$loop->setErrorHandler(null);
echo json_encode($loop->getErrorHandler()), "\n";

__halt_compiler();
Revolt\EventLoop\UncaughtThrowable: a callback threw: one
after it
Revolt\EventLoop\UncaughtThrowable: a callback threw: callback c returned something
Revolt\EventLoop\UncaughtThrowable: a callback threw: two
handled: three
handled: four
Revolt\EventLoop\UncaughtThrowable: the error handler threw: five
null
