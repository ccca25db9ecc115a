--TEST--
Buffered output is sent when the script exits
--FILE--
<?php
ob_start(fn ($text) => "($text)");
ob_start();
echo 'kept';
exit(0);
--EXPECT--
(kept)
