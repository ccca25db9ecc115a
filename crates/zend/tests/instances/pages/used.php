<?php

declare(strict_types=1);

// Prints the memory that a request uses before it does anything, the number of functions of the extensions, and PHP's version.
echo memory_get_usage(), ' ', count(get_defined_functions()['internal']), ' ', PHP_VERSION_ID;
