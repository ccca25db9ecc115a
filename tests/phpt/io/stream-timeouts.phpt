--TEST--
Stream timeouts and non-blocking streams
--FILE--
<?php
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
stream_set_timeout($a, 0, 20000);
var_dump(fread($a, 10), stream_get_meta_data($a)['timed_out']);
stream_set_blocking($a, false);
var_dump(fread($a, 10), fgets($a));
fwrite($b, "line\nrest");
stream_set_blocking($a, true);
stream_set_timeout($a, 5);
var_dump(fgets($a), fread($a, 100), stream_get_meta_data($a)['blocked']);
--EXPECT--
bool(false)
bool(true)
string(0) ""
bool(false)
string(5) "line
"
string(4) "rest"
bool(true)
