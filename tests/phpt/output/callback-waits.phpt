--TEST--
A buffer's callback may wait, and so may what is buffered
--FILE--
<?php
ob_start(function ($text) { usleep(1000); return "<$text>"; });
echo 'a';
usleep(1000);
echo 'b';
ob_end_flush();
echo "\n";
--EXPECT--
<ab>
