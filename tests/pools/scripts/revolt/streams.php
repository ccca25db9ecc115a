<?php

/* Streams and signals: readable, writable, several callbacks for one, and descriptors beyond the limit of select(). */

declare(strict_types=1);

require getenv('POOLS') . '/support.php';
require getenv('POOLS') . '/revolt/contract.php';

$loop = loop();
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
stream_set_blocking($a, false);
$read = '';
$loop->onReadable($a, static function (string $id, $stream) use ($loop, &$read): void {
    $read .= $chunk = fread($stream, 3);
    if ($chunk === '') {
        $loop->cancel($id);
    }
});
$loop->onReadable($a, static function (string $id) use ($loop): void {
    echo "another reader\n";
    $loop->cancel($id);
});
$loop->onWritable($b, static function (string $id, $stream) use ($loop): void {
    fwrite($stream, 'hello');
    $loop->cancel($id);
    $loop->delay(0.002, static function () use ($stream): void {
        fwrite($stream, ' world');
        fclose($stream);
    });
});
$loop->run();
echo "$read\n";

// Data in PHP's own read buffer counts: the kernel does not know about it.
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
fwrite($b, "one\ntwo\n");
echo trim(fgets($a)), "\n";
$loop->onReadable($a, static function (string $id, $stream) use ($loop): void {
    echo trim(fgets($stream)), "\n";
    $loop->cancel($id);
});
$loop->run();

// More of them than select() can handle.
$pairs = array_map(fn () => stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0), range(1, 700));
$heard = 0;
foreach ($pairs as $pair) {
    $loop->onReadable($pair[0], static function (string $id) use ($loop, &$heard): void {
        ++$heard;
        $loop->cancel($id);
    });
}
$loop->delay(0.001, fn () => array_walk($pairs, fn ($pair) => fwrite($pair[1], 'x')) ? null : null);
$loop->run();
echo "$heard heard\n";

$loop->onSignal(SIGUSR1, static function (string $id, int $signal) use ($loop): void {
    echo "signal $signal\n";
    $loop->cancel($id);
});
$loop->delay(0.002, static function (): void {
    posix_kill(getmypid(), SIGUSR1);
});
$loop->run();

$loop->onReadable($a, static function (): void {
});
fclose($a);
echo thrown(fn () => $loop->run()), "\n";

__halt_compiler();
another reader
hello world
one
two
700 heard
signal 10
Error: A stream that is waited for is closed, or cannot be waited for: cancel what waits for it before it is closed
