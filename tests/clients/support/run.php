<?php

/* Runs a script from the command line: prints its output. */

declare(strict_types=1);

require __DIR__ . '/strict.php';

$script = require $argv[1];
$script['prints']();
