--TEST--
getenv() and putenv()
--FILE--
<?php
var_dump(getenv('PATH') !== false, getenv('NO_SUCH_VARIABLE'));
putenv('COLOUR=red');
var_dump(getenv('COLOUR'), trim(shell_exec('echo $COLOUR')));
putenv('COLOUR');
var_dump(getenv('COLOUR'));
--EXPECT--
bool(true)
bool(false)
string(3) "red"
string(3) "red"
bool(false)
