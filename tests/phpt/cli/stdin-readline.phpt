--TEST--
A script that reads its input line by line until the end
--STDIN--
3
4
5
--FILE--
<?php
$sum = 0;
while (($line = fgets(STDIN)) !== false) {
    $sum += (int) $line;
}
var_dump($sum);
--EXPECT--
int(12)
