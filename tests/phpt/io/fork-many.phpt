--TEST--
Several children at once, waited for in any order
--FILE--
<?php
$children = [];
for ($i = 1; $i <= 5; $i++) {
    $pid = pcntl_fork();
    if ($pid === 0) {
        usleep(1000 * (6 - $i));
        exit($i);
    }
    $children[$pid] = $i;
}
$codes = [];
while (($pid = pcntl_wait($status)) > 0) {
    $codes[$children[$pid]] = pcntl_wexitstatus($status);
}
ksort($codes);
echo json_encode($codes), "\n";
--EXPECT--
{"1":1,"2":2,"3":3,"4":4,"5":5}
