<?php

declare(strict_types=1);

// Fills four chunks of the heap with blocks of one page and frees every other one, so that the chunks are full of
// holes. Then blocks of other sizes come and go. Each has its own letter, which reveals a write by another instance.
$page = 4096 - 64;
$blocks = [];
for ($i = 0; $i < 1700; $i++) {
    $blocks[] = str_repeat(chr(97 + $i % 26), $page);
}
$chunks = memory_get_peak_usage(true) >> 21;
for ($i = 0; $i < 1700; $i += 2) {
    unset($blocks[$i]);
}
usleep(1000);
mt_srand((int) $_GET['n']);
$wrong = 0;
for ($i = 0; $i < 2000; $i++) {
    $at = mt_rand(0, 1699);
    if (isset($blocks[$at])) {
        $wrong += strspn($blocks[$at], $blocks[$at][0]) !== strlen($blocks[$at]) ? 1 : 0;
        unset($blocks[$at]);
    } else {
        $blocks[$at] = str_repeat(chr(97 + $i % 26), mt_rand(1, 3) * $page);
    }
}
foreach ($blocks as $block) {
    $wrong += strspn($block, $block[0]) !== strlen($block) ? 1 : 0;
}
usleep(1000);
echo $wrong === 0 && $chunks === 4 ? "calm $_GET[n]" : "$wrong blocks were written to by others, $chunks chunks";
