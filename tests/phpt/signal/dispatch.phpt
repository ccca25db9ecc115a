--TEST--
Without async signals a wait is interrupted as well, and pcntl_signal_dispatch() calls the handler; SIG_IGN interrupts nothing
--FILE--
<?php
pcntl_signal(SIGALRM, function (int $number) { echo "handler $number\n"; });
pcntl_alarm(1);
var_dump(sleep(30) > 25);
pcntl_signal_dispatch();
var_dump(is_object(pcntl_signal_get_handler(SIGALRM)));
pcntl_signal(SIGALRM, SIG_IGN);
var_dump(pcntl_signal_get_handler(SIGALRM) === SIG_IGN);
pcntl_alarm(1);
var_dump(sleep(2));
pcntl_signal(SIGALRM, SIG_DFL);
$pid = pcntl_fork();
if ($pid === 0) {
    pcntl_alarm(1);
    sleep(20);
    exit(1);
}
pcntl_waitpid($pid, $status);
var_dump(pcntl_wifsignaled($status), pcntl_wtermsig($status) === SIGALRM);
--EXPECT--
bool(true)
handler 14
bool(true)
bool(true)
int(0)
bool(true)
bool(true)
