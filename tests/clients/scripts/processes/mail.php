<?php

/* mail(): the mailer is a slow process. */

declare(strict_types=1);

function letter(string $text): string
{
    $file = sys_get_temp_dir() . '/letter-' . bin2hex(random_bytes(8));
    mail('somebody@example.org', 'Subject', $text, ['From' => 'me@example.org'], $file);
    $letter = file_get_contents($file);
    unlink($file);

    return $letter;
}

return [
    'forks' => true,
    'prints' => static function (): void {
        echo preg_replace('/^X-PHP.*\R/m', '', letter("text\n" . str_repeat("many lines\n", 20)));
    },
    'waits' => static fn (int $n): string => preg_match('/^number (\d+)\s*$/m', letter("number $n"), $match) ? $match[1] : 'lost',
];
