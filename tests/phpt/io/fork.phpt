--TEST--
pcntl_fork(), waitpid, signals
--FILE--
<?php
$pid = pcntl_fork();
if ($pid === 0) {
    usleep(1000);
    echo "child\n";
    exit(6);
}
var_dump(pcntl_waitpid($pid, $status) === $pid, pcntl_wifexited($status), pcntl_wexitstatus($status));
pcntl_async_signals(true);
pcntl_signal(SIGUSR1, function () { echo "signal\n"; });
posix_kill(getmypid(), SIGUSR1);
usleep(1000);
echo "parent\n";
--EXPECT--
child
bool(true)
bool(true)
int(6)
signal
parent
