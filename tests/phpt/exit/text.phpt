--TEST--
exit(text) prints the text and ends with 0
--FILE--
<?php
function leave(): never { exit("bye\n"); }
try {
    leave();
} finally {
    echo "finally is not run\n";
}
--EXPECT--
bye
