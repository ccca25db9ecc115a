<?php

/* Nothing of a client passes unnoticed: a warning is an exception, unless it is expected (@). */

declare(strict_types=1);

set_error_handler(static function (int $level, string $message, string $file, int $line): bool {
    if ((error_reporting() & $level) === 0) {
        return false;
    }
    throw new ErrorException($message, 0, $level, $file, $line);
});
