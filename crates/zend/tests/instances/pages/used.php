<?php

declare(strict_types=1);

// What a request has used before it does anything, and how many functions the extensions have.
echo memory_get_usage(), ' ', count(get_defined_functions()['internal']);
