<?php

/* Turns each warning of a client into an exception, unless the script expects it (@). */

declare(strict_types=1);

set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    if ((error_reporting() & $level) === 0) {
        return false;
    }
    throw new ErrorException($message, 0, $level, $file, $line);
});
