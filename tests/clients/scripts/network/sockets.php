<?php

/* ext-sockets: every call that waits, its time-outs, MSG_PEEK, MSG_WAITALL, MSG_DONTWAIT, urgent data. */

declare(strict_types=1);

function connected(): Socket
{
    [$host, $port] = explode(':', getenv('UPSTREAM_LINE'));
    $socket = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
    socket_connect($socket, $host, (int) $port);

    return $socket;
}

return [
    'prints' => static function (): void {
        $socket = connected();
        socket_write($socket, "20 text\n");
        var_dump(socket_recv($socket, $peeked, 2, MSG_PEEK), $peeked, socket_recv($socket, $all, 5, MSG_WAITALL), $all);

        // No more data arrives: SO_RCVTIMEO ends the wait.
        socket_set_option($socket, SOL_SOCKET, SO_RCVTIMEO, ['sec' => 0, 'usec' => 40_000]);
        var_dump(@socket_read($socket, 10), socket_last_error($socket) === SOCKET_EAGAIN);
        var_dump(@socket_recv($socket, $none, 10, MSG_DONTWAIT), socket_last_error($socket) === SOCKET_EAGAIN);
        socket_set_nonblock($socket);
        var_dump(@socket_read($socket, 10), socket_last_error($socket) === SOCKET_EAGAIN);
        socket_set_block($socket);

        // MSG_WAITALL collects data that arrives in parts.
        $socket = connected();
        socket_write($socket, "10 ab\n60 cd\n");
        var_dump(socket_recv($socket, $all, 6, MSG_WAITALL), $all);

        // A full pipe: SO_SNDTIMEO ends a write that no peer reads.
        socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
        socket_set_option($pair[0], SOL_SOCKET, SO_SNDTIMEO, ['sec' => 0, 'usec' => 20_000]);
        $sent = socket_write($pair[0], str_repeat('x', 5_000_000));
        var_dump($sent > 0 && $sent < 5_000_000, @socket_write($pair[0], 'x'), socket_last_error($pair[0]) === SOCKET_EAGAIN);

        // Urgent data is sent and read out of band.
        $server = socket_create_listen(0);
        socket_getsockname($server, $host, $port);
        $client = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
        socket_connect($client, '127.0.0.1', $port);
        $peer = socket_accept($server);
        socket_send($client, 'ab', 2, 0);
        socket_send($client, '!', 1, MSG_OOB);
        $read = $write = null;
        $except = [$peer];
        var_dump(socket_select($read, $write, $except, 5), socket_recv($peer, $urgent, 1, MSG_OOB), $urgent);
        var_dump(socket_recv($peer, $normal, 10, 0), $normal);
        var_dump(@socket_recv($peer, $urgent, 1, MSG_OOB), socket_last_error($peer) === SOCKET_EINVAL);
    },
    'waits' => static function (int $n): string {
        $socket = connected();
        socket_write($socket, "500 $n\n");
        $read = [$socket];
        $write = $except = null;

        return match ($n % 3) {
            0 => trim(socket_read($socket, 100, PHP_NORMAL_READ)),
            1 => socket_recv($socket, $text, 100, 0) ? trim($text) : 'nothing',
            2 => socket_select($read, $write, $except, 20) === 1 ? trim(socket_read($socket, 100)) : 'nothing',
        };
    },
];
