--TEST--
stream_select() on socket pairs: readable, writable, timeout
--FILE--
<?php
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
[$c, $d] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$read = [$a, $c]; $write = null; $except = null;
var_dump(stream_select($read, $write, $except, 0, 1000), $read);
fwrite($b, 'hello');
$read = ['x' => $a, 'y' => $c]; $write = [$d];
var_dump(stream_select($read, $write, $except, 5), array_keys($read), count($write), fread($a, 10));
fclose($d);
$read = [$c]; $write = null;
var_dump(stream_select($read, $write, $except, null), fread($c, 1), feof($c));
--EXPECT--
int(0)
array(0) {
}
int(2)
array(1) {
  [0]=>
  string(1) "x"
}
int(1)
string(5) "hello"
int(1)
string(0) ""
bool(true)
