--TEST--
header() and its relatives do not disturb a command-line script
--FILE--
<?php
header('X-Test: 1');
$before = [http_response_code(), headers_list(), headers_sent()];
$after = [http_response_code(404), http_response_code()];
var_dump(...$before, ...$after);
--EXPECT--
bool(false)
array(0) {
}
bool(false)
bool(true)
int(404)
