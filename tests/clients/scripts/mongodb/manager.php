<?php

/* ext-mongodb: commands, and managers with the same URI, which share one client in the extension. */

declare(strict_types=1);

use MongoDB\Driver\{Command, Manager};

function manager(): Manager
{
    return new Manager('mongodb://127.0.0.1:' . getenv('MONGODB_PORT'));
}

/** @return array{n: int, connection: int} */
function answer(Manager $manager, int $n, int $milliseconds): array
{
    $command = new Command(['echo' => 1, 'n' => $n, 'milliseconds' => $milliseconds]);

    return (array) $manager->executeCommand('weft', $command)->toArray()[0];
}

return [
    'prints' => static function (): void {
        $first = answer(manager(), 41, 1);
        $second = answer(manager(), 42, 1);
        var_dump($first['n'], $second['n'], $first['connection'] === $second['connection']);
    },
    'waits' => static fn (int $n): string => (string) answer(manager(), $n, 500)['n'],
];
