--TEST--
A read is restarted after a handler with SA_RESTART, fails with EINTR after one without, and always with SO_RCVTIMEO
--FILE--
<?php
/** In a child: waits until the parent sleeps in a system call and stays asleep, because some calls sleep only briefly. */
function until_parent_waits(): void {
    for ($seen = 0; $seen < 3;) {
        usleep(1000);
        $stat = file_get_contents('/proc/' . posix_getppid() . '/stat');
        $seen = substr($stat, strrpos($stat, ')') + 2, 1) === 'S' ? $seen + 1 : 0;
    }
}
pcntl_async_signals(true);
$handle = function () { echo "handler\n"; };
function peer($socket): int {
    $pid = pcntl_fork();
    if ($pid === 0) {
        until_parent_waits();
        posix_kill(posix_getppid(), SIGUSR1);
        until_parent_waits();
        socket_write($socket, 'data');
        exit;
    }
    return $pid;
}
foreach ([[true, null], [false, null], [true, 30]] as [$restart, $timeout]) {
    pcntl_signal(SIGUSR1, $handle, $restart);
    socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
    if ($timeout) {
        socket_set_option($pair[0], SOL_SOCKET, SO_RCVTIMEO, ['sec' => $timeout, 'usec' => 0]);
    }
    $pid = peer($pair[1]);
    $text = @socket_read($pair[0], 10);
    var_dump($text, $text === false ? socket_last_error($pair[0]) === SOCKET_EINTR : null);
    pcntl_waitpid($pid, $status);
    if ($text === false) {
        var_dump(socket_read($pair[0], 10));
    }
}
--EXPECT--
handler
string(4) "data"
NULL
handler
bool(false)
bool(true)
string(4) "data"
handler
bool(false)
bool(true)
string(4) "data"
