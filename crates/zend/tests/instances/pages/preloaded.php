<?php

$number = (int) $_GET['n'];
for ($i = 1; $i <= 4; $i++) {
    $said = Preloaded::note($number);
    usleep(mt_rand(500, 3000));
    if (preloaded_function() !== $i || count(Preloaded::$seen) !== $i) {
        $said = 'disturbed';
        break;
    }
}
echo $said;
