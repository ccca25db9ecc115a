<?php

/* Nothing of a client passes unnoticed: a warning is an exception. */

declare(strict_types=1);

set_error_handler(static function (int $level, string $message, string $file, int $line): never {
    throw new ErrorException($message, 0, $level, $file, $line);
});
