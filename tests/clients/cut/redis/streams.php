<?php

/* A client written in PHP, on streams that PHP keeps. */

declare(strict_types=1);

return [
    'open' => static fn (): mixed => pfsockopen('127.0.0.1', (int) getenv('REDIS_PORT')),
    'ask' => static function (mixed $stream, string $text): string {
        fwrite($stream, "ECHO \"$text\"\r\n");
        fgets($stream);

        return trim((string) fgets($stream));
    },
    'slow' => static function (mixed $stream): mixed {
        fwrite($stream, "BLPOP never 5\r\nECHO alice\r\n");

        return fgets($stream);
    },
];
