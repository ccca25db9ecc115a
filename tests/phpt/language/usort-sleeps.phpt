--TEST--
Comparators that wait, in every sort function, nested
--FILE--
<?php
$slow = function ($a, $b) { usleep(50); return $a <=> $b; };
$list = [5, 3, 9, 1];
usort($list, $slow);
echo implode(' ', $list), "\n";
$map = ['b' => 2, 'a' => 1, 'c' => 0];
uksort($map, $slow);
echo json_encode($map), "\n";
uasort($map, $slow);
echo json_encode($map), "\n";
$lists = [[3, 1, 2], [1, 3], [2]];
usort($lists, function ($a, $b) use ($slow) {
    usort($a, $slow);
    usort($b, $slow);
    return count($a) <=> count($b);
});
echo json_encode($lists), "\n";
echo implode(' ', array_udiff([1, 2, 3, 4], [2, 4], $slow)), "\n";
--EXPECT--
1 3 5 9
{"a":1,"b":2,"c":0}
{"c":0,"a":1,"b":2}
[[2],[1,3],[3,1,2]]
1 3
