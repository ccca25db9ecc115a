--TEST--
References, copy on write and static variables across waits
--FILE--
<?php
function next_id() { static $id = 0; usleep(10); return ++$id; }
$a = [1, 2, 3];
foreach ($a as &$item) { usleep(10); $item *= 2; }
unset($item);
$b = $a;
$b[] = next_id();
[$x, [, $y]] = [next_id(), [0, next_id()]];
echo json_encode([$a, $b, $x, $y]), "\n";
--EXPECT--
[[2,4,6],[2,4,6,1],2,3]
