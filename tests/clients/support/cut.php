<?php

/* A client whose conversation with its server is cut short in one way or another; then another request uses
 * the connection. */

declare(strict_types=1);

use Weft\Http\Request;
use Weft\TimeoutException;

/** @var array{open: callable(): mixed, ask: callable(mixed, string): string, slow: callable(mixed): mixed, half?: callable(mixed): mixed} $client */
$client = require getenv('CLIENT_SCRIPT');
$client['half'] ??= static fn (mixed $connection): mixed => $connection;

return static function (Request $request) use ($client): string {
    switch ($request->path()) {
        case '/ask':
            return $client['ask']($client['open'](), (string) $request->query('text'));
        case '/timeout':
            try {
                Weft\timeout(0.2, static fn (): mixed => $client['slow']($client['open']()));
            } catch (TimeoutException) {
                return 'cut';
            }

            return 'it did not wait';
        case '/task':
            $task = Weft\go(static fn (): mixed => $client['slow']($client['open']()));
            usleep(200_000);
            $task->cancel();
            try {
                $task->await();
            } catch (Throwable) {
                return 'cut';
            }

            return 'it did not wait';
        case '/slow': // the client disconnects, or the request runs too long
            $client['slow']($client['open']());

            return 'late';
        case '/exit':
            $kept = $client['half']($client['open']());
            exit('cut');
        case '/throw':
            $kept = $client['half']($client['open']());
            throw new RuntimeException('cut');
        case '/fatal':
            $kept = $client['half']($client['open']());
            trigger_error('cut', E_USER_ERROR);
    }

    return 'ready';
};
