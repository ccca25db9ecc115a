--TEST--
A signal's handler ends stream_select() and socket_select() with EINTR; an exception of it comes out of the wait
--FILE--
<?php
pcntl_async_signals(true);
pcntl_signal(SIGALRM, function () { echo "handler\n"; });
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$read = [$a];
$write = $except = null;
pcntl_alarm(1);
var_dump(@stream_select($read, $write, $except, 20));
echo error_get_last()['message'], "\n";
$read = [$a];
fwrite($b, "x");
var_dump(stream_select($read, $write, $except, 20));

socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
$read = [$pair[0]];
pcntl_alarm(1);
var_dump(@socket_select($read, $write, $except, 20), socket_last_error() === SOCKET_EINTR);

pcntl_signal(SIGALRM, function () { throw new RuntimeException('too late'); });
pcntl_alarm(1);
try {
    $read = [$pair[0]];
    @socket_select($read, $write, $except, 20);
} catch (RuntimeException $e) {
    echo $e->getMessage(), "\n";
}
try {
    pcntl_alarm(1);
    sleep(20);
} catch (RuntimeException $e) {
    echo $e->getMessage(), "\n";
}
--EXPECTF--
handler
bool(false)
stream_select(): Unable to select [4]: Interrupted system call (max_fd=%d)
int(1)
handler
bool(false)
bool(true)
too late
too late
