--TEST--
A TCP server and its clients in one script
--FILE--
<?php
$server = stream_socket_server('tcp://127.0.0.1:0', $code, $message);
$address = stream_socket_get_name($server, false);
$clients = [];
for ($i = 0; $i < 3; $i++) {
    $clients[$i] = stream_socket_client("tcp://$address", $code, $message, 5);
    fwrite($clients[$i], "hello $i\n");
}
for ($i = 0; $i < 3; $i++) {
    $peer = stream_socket_accept($server, 5);
    $line = fgets($peer);
    fwrite($peer, strtoupper($line) . str_repeat('x', 30000));
    stream_socket_shutdown($peer, STREAM_SHUT_WR);
    $text = stream_get_contents($clients[$i]);
    echo strtok($text, "\n"), ' ', strlen($text), "\n";
}
var_dump(@stream_socket_client('tcp://127.0.0.1:1', $code, $message, 1), $code === SOCKET_ECONNREFUSED, $message);
--EXPECT--
HELLO 0 30008
HELLO 1 30008
HELLO 2 30008
bool(false)
bool(true)
string(18) "Connection refused"
