--TEST--
ext-sockets: TCP, UDP, select, options, errors
--FILE--
<?php
$server = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
socket_bind($server, '127.0.0.1', 0);
socket_listen($server);
socket_getsockname($server, $address, $port);
$client = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
var_dump(socket_connect($client, $address, $port));
$peer = socket_accept($server);
var_dump(socket_write($client, "ping\nmore"), socket_read($peer, 100, PHP_NORMAL_READ), socket_recv($peer, $rest, 100, 0), $rest);
socket_set_option($peer, SOL_SOCKET, SO_RCVTIMEO, ['sec' => 0, 'usec' => 20000]);
var_dump(@socket_read($peer, 10), socket_last_error($peer) === SOCKET_EAGAIN);
$read = [$peer]; $write = $except = null;
var_dump(socket_select($read, $write, $except, 0, 1000));
$udp = socket_create(AF_INET, SOCK_DGRAM, SOL_UDP);
socket_bind($udp, '127.0.0.1', 0);
socket_getsockname($udp, $address, $port);
socket_sendto($udp, 'datagram', 8, 0, $address, $port);
var_dump(socket_recvfrom($udp, $data, 100, 0, $from, $fromPort), $data, $fromPort === $port);
--EXPECT--
bool(true)
int(9)
string(5) "ping
"
int(4)
string(4) "more"
bool(false)
bool(true)
int(0)
int(8)
string(8) "datagram"
bool(true)
