<?php

/**
 * Makes weft's PHP library available to every application, without Composer. An application that has the package by
 * Composer uses that copy: its autoloader is asked first.
 */

declare(strict_types=1);

spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Weft\\')) {
        $file = __DIR__ . '/src/' . strtr(substr($class, 5), '\\', '/') . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
