<?php

declare(strict_types=1);

use MongoDB\Driver\{Command, Manager};

function said(Manager $manager, string $text, int $milliseconds): string
{
    $command = new Command(['echo' => 1, 'n' => (crc32($text) & 0xffffff), 'milliseconds' => $milliseconds]);

    return ((array) $manager->executeCommand('weft', $command)->toArray()[0])['n'] === (crc32($text) & 0xffffff) ? $text : 'of somebody else';
}

return [
    'open' => static fn (): Manager => new Manager('mongodb://127.0.0.1:' . getenv('MONGODB_PORT')),
    'ask' => static fn (Manager $manager, string $text): string => said($manager, $text, 1),
    'slow' => static fn (Manager $manager): mixed => said($manager, 'alice', 2000),
];
