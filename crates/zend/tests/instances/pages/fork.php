<?php

$n = (int) $_GET['n'];
$mine = "value $n";
$result = tempnam($_GET['in'], 'fork');
usleep(1000);
$child = pcntl_fork();
if ($child === 0) {
    usleep(2000);
    file_put_contents($result, "child of $mine");
    exit(7);
}
usleep(1000);
pcntl_waitpid($child, $status);
$said = file_get_contents($result);
echo pcntl_wexitstatus($status) === 7 && $said === "child of value $n" ? "OK $n" : "BAD $status $said";
