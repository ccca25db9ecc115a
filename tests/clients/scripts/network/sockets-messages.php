<?php

/* ext-sockets: datagrams, socket_sendmsg() and socket_recvmsg() with descriptors, socket_accept() in pairs. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        [$host, $port] = explode(':', getenv('UPSTREAM_UDP'));
        $udp = socket_create(AF_INET, SOCK_DGRAM, SOL_UDP);
        socket_sendto($udp, '20 datagram', 11, 0, $host, (int) $port);
        var_dump(socket_recvfrom($udp, $text, 100, 0, $from, $at), $text, $from, $at === (int) $port);
        socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
        $file = tmpfile();
        fwrite($file, 'passed on');
        socket_sendmsg($pair[0], ['iov' => ['text ', 'in parts'], 'control' => [
            ['level' => SOL_SOCKET, 'type' => SCM_RIGHTS, 'data' => [$file]],
        ]], 0);
        $message = ['name' => [], 'buffer_size' => 100, 'controllen' => socket_cmsg_space(SOL_SOCKET, SCM_RIGHTS, 1)];
        var_dump(socket_recvmsg($pair[1], $message, 0), implode($message['iov']));
        $passed = $message['control'][0]['data'][0];
        rewind($passed);
        var_dump(fread($passed, 100));
    },
    'waits' => static function (int $n): string {
        [$host, $port] = explode(':', getenv('UPSTREAM_UDP'));
        $udp = socket_create(AF_INET, SOCK_DGRAM, SOL_UDP);
        socket_sendto($udp, "500 $n", strlen("500 $n"), 0, $host, (int) $port);
        if ($n % 2) {
            socket_recvfrom($udp, $text, 100, 0, $from, $at);

            return $text;
        }
        $message = ['name' => [], 'buffer_size' => 100, 'controllen' => 100];
        socket_recvmsg($udp, $message, 0);

        return $message['iov'][0];
    },
];
