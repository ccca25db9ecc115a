<?php

declare(strict_types=1);

// Debian's packages bring autoloaders of their own.
require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once 'Symfony/Component/Runtime/autoload.php';
require_once __DIR__ . '/src/Kernel.php';
