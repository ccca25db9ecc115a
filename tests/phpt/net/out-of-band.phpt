--TEST--
Urgent data: stream_socket_sendto() and stream_socket_recvfrom() with STREAM_OOB, stream_select() for exceptions
--FILE--
<?php
$server = stream_socket_server('tcp://127.0.0.1:0');
$client = stream_socket_client('tcp://' . stream_socket_get_name($server, false));
$peer = stream_socket_accept($server);
fwrite($client, 'normal');
var_dump(stream_socket_sendto($client, '!', STREAM_OOB));
fwrite($client, ' rest');
$read = $write = null;
$except = [$peer];
var_dump(stream_select($read, $write, $except, 5), $except === [$peer]);
var_dump(stream_socket_recvfrom($peer, 1, STREAM_OOB));
fclose($client);
var_dump(stream_get_contents($peer), feof($peer));
--EXPECT--
int(1)
int(1)
bool(true)
string(1) "!"
string(11) "normal rest"
bool(true)
