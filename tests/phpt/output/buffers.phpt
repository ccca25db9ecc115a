--TEST--
Output buffers nest, are filtered by callbacks, and are flushed at the end
--FILE--
<?php
ob_start(fn (string $text) => strtoupper($text));
echo "outer ";
ob_start();
echo 'inner';
$inner = ob_get_clean();
echo strrev($inner), ' ', ob_get_level(), ' ', ob_get_length(), "\n";
ob_end_flush();
ob_start(function ($buffer, $phase) { return "[$phase:$buffer]"; });
echo 'x';
ob_flush();
echo 'y';
ob_clean();
echo 'z';
--EXPECT--
OUTER RENNI 1 14
[5:x][8:z]
