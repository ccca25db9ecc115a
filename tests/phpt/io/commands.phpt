--TEST--
exec, shell_exec, system, passthru, popen, backticks
--INI--
error_reporting=E_ALL & ~E_DEPRECATED
--FILE--
<?php
echo exec('echo one; echo two; exit 3', $lines, $code), ' ', implode('+', $lines), " $code\n";
echo shell_exec('printf "a b"'), ' ', `echo tick`;
echo system('echo shown', $code), " $code\n";
passthru('printf "raw\n"');
var_dump(shell_exec('exit 1'));
$pipe = popen('cat; exit 2', 'w');
fwrite($pipe, "through cat\n");
echo pclose($pipe), "\n";
$pipe = popen('sleep 0.05; echo late', 'r');
echo fgets($pipe), pclose($pipe), "\n";
echo escapeshellarg("it's"), "\n";
--EXPECT--
two one+two 3
a b tick
shown
shown 0
raw
NULL
through cat
2
late
0
'it'\''s'
