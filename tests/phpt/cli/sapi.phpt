--TEST--
The script sees the cli SAPI and its constants
--FILE--
<?php
var_dump(PHP_SAPI, php_sapi_name(), is_resource(STDIN), is_resource(STDOUT), is_resource(STDERR));
var_dump(is_executable(PHP_BINARY), PHP_EOL, PHP_OS_FAMILY, PHP_MAJOR_VERSION, (int) PHP_ZTS);
var_dump(isset($_SERVER['REQUEST_TIME_FLOAT']), $_GET, $_POST, $_COOKIE, $_FILES);
--EXPECT--
string(3) "cli"
string(3) "cli"
bool(true)
bool(true)
bool(true)
bool(true)
string(1) "
"
string(5) "Linux"
int(8)
int(0)
bool(true)
array(0) {
}
array(0) {
}
array(0) {
}
array(0) {
}
