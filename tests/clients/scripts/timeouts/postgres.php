<?php

/* Time-outs of PDO pgsql and ext-pgsql: a server that accepts connections and sends nothing. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/silent.php';

function pdo(): void
{
    $listener = silent($port);
    new PDO("pgsql:host=127.0.0.1;port=$port", options: [PDO::ATTR_TIMEOUT => 2]);
}

function pgsql(): void
{
    $listener = silent($port);
    pg_connect("host=127.0.0.1 port=$port connect_timeout=2");
}

return [
    'seconds' => 1.0,
    'secondsAtMost' => 2.0, // connect_timeout=2 ends after one to two seconds: libpq counts whole seconds of the clock
    'prints' => static function (): void {
        foreach ([pdo(...), pgsql(...)] as $work) {
            echo failing(1, $work), "\n";
        }
    },
    'waits' => static fn (int $n): string => str_contains(failing(1, $n % 4 < 2 ? pdo(...) : pgsql(...)), 'timeout expired') ? "$n" : 'no time-out',
];
