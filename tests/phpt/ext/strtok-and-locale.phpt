--TEST--
Functions that keep state between calls keep it across waits
--FILE--
<?php
$words = [];
for ($word = strtok('a b c', ' '); $word !== false; $word = strtok(' ')) { usleep(10); $words[] = $word; }
echo implode('-', $words), ' ';
$iterator = [3, 4];
echo current($iterator), next($iterator), ' ';
@trigger_error('kept');
usleep(10);
echo error_get_last()['message'], ' ', setlocale(LC_NUMERIC, 0), "\n";
--EXPECT--
a-b-c 34 kept C
