<?php
usleep(2000);
$all = [];
while (true) {
    $all[] = str_repeat("x", 1 << 20) . count($all);
}
