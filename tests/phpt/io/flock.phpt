--TEST--
flock() excludes, shares, refuses with LOCK_NB, and waits
--FILE--
<?php
$path = __DIR__ . '/lock';
$a = fopen($path, 'c');
$b = fopen($path, 'c');
var_dump(flock($a, LOCK_EX), flock($b, LOCK_EX | LOCK_NB, $would), $would);
flock($a, LOCK_UN);
var_dump(flock($a, LOCK_SH), flock($b, LOCK_SH | LOCK_NB));
flock($a, LOCK_UN);
flock($b, LOCK_UN);
$other = popen('flock ' . escapeshellarg($path) . ' -c "echo locked; sleep 0.1; echo unlocked > ' . escapeshellarg("$path.done") . '"', 'r');
echo fgets($other);
var_dump(flock($a, LOCK_EX), file_exists("$path.done"));
pclose($other);
--EXPECT--
bool(true)
bool(false)
int(1)
bool(true)
bool(true)
locked
bool(true)
bool(true)
