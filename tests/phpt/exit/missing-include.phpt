--TEST--
include of a missing file warns, require ends the script
--FILE--
<?php
var_dump(@include 'no-such-file.php');
try {
    require 'no-such-file.php';
} finally {
    echo "finally is not run\n";
}
--EXITCODE--
255
--EXPECTF--
bool(false)
%AWarning: require(no-such-file.php): Failed to open stream: No such file or directory in %s on line 4
%AFatal error: Uncaught Error: Failed opening required 'no-such-file.php' (include_path='%s') in %s:4
%A
