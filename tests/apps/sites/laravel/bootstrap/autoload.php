<?php

declare(strict_types=1);

// Debian's packages bring autoloaders of their own.
require_once 'Illuminate/autoload.php';

spl_autoload_register(static function (string $class): void {
    $path = dirname(__DIR__) . '/app/' . strtr(substr($class, strlen('App\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'App\\') && is_file($path)) {
        require $path;
    }
});
