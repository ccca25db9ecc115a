<?php

declare(strict_types=1);

// Waits a few times and prints its number.
$number = (int) $_GET['n'];
$seen = [];
for ($i = 0; $i < 5; $i++) {
    usleep(1000 + $number * 37 % 2000);
    $seen[] = $number;
}
echo array_unique($seen) === [$number] ? "calm $number" : 'disturbed';
