--TEST--
A syntax error ends with 255
--FILE--
<?php
echo "never\n";
function {
--EXITCODE--
255
--EXPECTF--
%AParse error: %s in %s on line 3
