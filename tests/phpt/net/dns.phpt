--TEST--
Names of this machine resolve; unknown ones do not
--FILE--
<?php
var_dump(gethostbyname('localhost'), gethostbyname('127.0.0.2'), gethostbynamel('localhost'));
var_dump(gethostbyname('no-such-name.invalid'), gethostname() === php_uname('n'));
--EXPECT--
string(9) "127.0.0.1"
string(9) "127.0.0.2"
array(1) {
  [0]=>
  string(9) "127.0.0.1"
}
string(20) "no-such-name.invalid"
bool(true)
