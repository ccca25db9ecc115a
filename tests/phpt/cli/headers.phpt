--TEST--
header() and its relatives do not disturb a command-line script
--FILE--
<?php
header('X-Test: 1');
var_dump(http_response_code(), headers_list(), headers_sent());
var_dump(http_response_code(404), http_response_code());
--EXPECT--
bool(false)
array(0) {
}
bool(false)
bool(true)
int(404)
