<?php

declare(strict_types=1);

// Popup\Rules\Choice is src/Rules/Choice.php.
spl_autoload_register(static function (string $class): void {
    if (str_starts_with($class, 'Popup\\')) {
        $file = __DIR__ . '/' . strtr(substr($class, 6), '\\', '/') . '.php';
        if (is_file($file)) {
            require $file;
        }
    }
});
