<?php

$n = (int) $_GET['n'];
$counter = $_GET['in'] . '/counter';
$bad = [];
$file = fopen($counter, 'c+');
flock($file, LOCK_EX);
$before = (int) stream_get_contents($file);
usleep(300);
rewind($file);
fwrite($file, (string) ($before + 1));
fflush($file);
rewind($file);
$bad['flock'] = (int) stream_get_contents($file) !== $before + 1;
flock($file, LOCK_UN);
$made = apcu_entry("made by $n", function () use ($n): string {
    usleep(500);
    return "made $n";
});
$bad['apcu'] = $made !== "made $n" || apcu_fetch("made by $n") !== "made $n";
$bad = array_keys(array_filter($bad));
echo $bad ? 'BAD ' . implode(', ', $bad) : "OK $n";
