<?php

/* ext-mongodb without a server, because Debian has none: this tests how the extension waits for one. A listener
 * accepts its connections and sends nothing. */

declare(strict_types=1);

use MongoDB\Driver\{Command, Manager};

/** Asks a server that does not answer; returns why that failed. */
function ask(int $milliseconds): string
{
    $silent = stream_socket_server('tcp://127.0.0.1:0');
    $options = ['serverSelectionTimeoutMS' => $milliseconds, 'connectTimeoutMS' => $milliseconds, 'socketTimeoutMS' => $milliseconds];
    $manager = new Manager('mongodb://' . stream_socket_get_name($silent, false), $options, ['disableClientPersistence' => true]);
    try {
        $manager->executeCommand('weft', new Command(['ping' => 1]));
    } catch (MongoDB\Driver\Exception\ConnectionTimeoutException) {
        return 'timed out';
    }

    return 'answered';
}

return [
    'prints' => static function (): void {
        echo ask(50), "\n";
        $values = ['n' => 1, 'list' => ['a', 'b']];
        // The functions are gone since version 2, and the class is there since 1.16.
        echo class_exists(MongoDB\BSON\Document::class)
            ? MongoDB\BSON\Document::fromPHP($values)->toCanonicalExtendedJSON()
            : MongoDB\BSON\toCanonicalExtendedJSON(MongoDB\BSON\fromPHP($values)), "\n";
    },
    'waits' => static fn (int $n): string => ask(500) === 'timed out' ? (string) $n : 'answered',
];
