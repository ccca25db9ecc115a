--TEST--
$argv and $argc hold the script and its arguments, globally and in $_SERVER
--ARGS--
one -d two --three=3 --
--FILE--
<?php
echo basename($argv[0]), ' ', $argc, "\n";
var_dump(array_slice($argv, 1));
var_dump($_SERVER['argv'] === $argv, $_SERVER['argc'] === $argc, $GLOBALS['argc'] === $argc);
var_dump(basename($_SERVER['SCRIPT_NAME']), basename($_SERVER['PHP_SELF']), basename(__FILE__));
--EXPECT--
test.php 6
array(5) {
  [0]=>
  string(3) "one"
  [1]=>
  string(2) "-d"
  [2]=>
  string(3) "two"
  [3]=>
  string(9) "--three=3"
  [4]=>
  string(2) "--"
}
bool(true)
bool(true)
bool(true)
string(8) "test.php"
string(8) "test.php"
string(8) "test.php"
