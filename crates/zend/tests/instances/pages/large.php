<?php

declare(strict_types=1);

// Uses some megabytes at the same time as the others.
$block = str_repeat('x', 3 << 20);
$list = range(1, 50_000);
usleep(20_000);
echo strlen($block) === 3 << 20 && count($list) === 50_000 ? "calm {$_GET['n']}" : 'disturbed';
