<?php

/* msg_receive() and msg_send(): requests in pairs, message types, a full queue. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        $queue = msg_get_queue(random_int(1, 0x7fffffff), 0600);
        var_dump(msg_send($queue, 2, ['a' => 1]), msg_send($queue, 1, 'first'));
        var_dump(msg_receive($queue, 1, $kind, 100, $message), $kind, $message);
        var_dump(msg_receive($queue, 0, $kind, 100, $message), $kind, $message);
        var_dump(msg_receive($queue, 0, $kind, 100, $message, true, MSG_IPC_NOWAIT, $error), $error === MSG_ENOMSG);
        while (@msg_send($queue, 1, str_repeat('x', 4000), false, false, $error));
        var_dump($error === MSG_EAGAIN);
        $pid = pcntl_fork();
        if ($pid === 0) {
            usleep(30_000);
            msg_receive($queue, 0, $kind, 5000, $message, false);
            posix_kill(getmypid(), SIGKILL);
        }
        var_dump(msg_send($queue, 1, 'room', false));
        pcntl_waitpid($pid, $status);
        msg_remove_queue($queue);
    },
    'waits' => static function (int $n): string {
        $queue = msg_get_queue((getmypid() << 8) + ($n >> 1), 0600);
        if ($n % 2) {
            usleep(400_000);
            msg_send($queue, 1, $n - 1);

            return (string) $n;
        }
        msg_receive($queue, 0, $kind, 100, $message);
        msg_remove_queue($queue);

        return (string) $message;
    },
];
