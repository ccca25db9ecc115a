<?php

/* A script by a command: what it prints. */

declare(strict_types=1);

require __DIR__ . '/strict.php';

$script = require $argv[1];
$script['prints']();
