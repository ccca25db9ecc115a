--TEST--
php://input is empty, php://memory and php://temp work
--FILE--
<?php
var_dump(file_get_contents('php://input'));
$temp = fopen('php://temp/maxmemory:16', 'w+');
fwrite($temp, str_repeat('x', 100));
rewind($temp);
var_dump(strlen(stream_get_contents($temp)), fstat($temp)['size']);
--EXPECT--
string(0) ""
int(100)
int(100)
