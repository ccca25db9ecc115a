<?php

declare(strict_types=1);

// phpunit --bootstrap examples/popup/tests/bootstrap.php examples/popup/tests
// The library is there already under `weft php`.

require __DIR__ . '/../src/autoload.php';
require_once __DIR__ . '/../../../php/autoload.php';
