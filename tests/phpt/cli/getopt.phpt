--TEST--
getopt() reads the script's options
--ARGS--
-a -b value --long=x rest
--FILE--
<?php
var_dump(getopt('ab:', ['long:'], $end), $argv[$end]);
--EXPECT--
array(3) {
  ["a"]=>
  bool(false)
  ["b"]=>
  string(5) "value"
  ["long"]=>
  string(1) "x"
}
string(4) "rest"
