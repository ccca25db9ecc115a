--TEST--
exit(n) ends the script with that status
--FILE--
<?php
echo "before\n";
exit(7);
echo "after\n";
--EXITCODE--
7
--EXPECT--
before
