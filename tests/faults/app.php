<?php

declare(strict_types=1);

use Weft\Http\Request;

/** Waits until the gate opens; each way is a real wait in another library. */
function parked(Request $request): string
{
    $n = (int) $request->query('n');
    match ($n % 5) {
        0 => sleep_until_open(),
        1 => curl_until_open($request),
        2 => read_until_open($request),
        3 => sqlite_until_open(),
        4 => flock_until_open(),
    };

    return "parked $n";
}

function is_open(): bool
{
    clearstatcache();

    return is_file('gate');
}

function sleep_until_open(): void
{
    while (!is_open()) {
        usleep(3000);
    }
}

function curl_until_open(Request $request): void
{
    do {
        $curl = curl_init($request->query('slow'));
        curl_setopt($curl, CURLOPT_RETURNTRANSFER, true);
        $text = curl_exec($curl);
    } while ($text !== 'open');
}

function read_until_open(Request $request): void
{
    do {
        $text = file_get_contents($request->query('slow'));
    } while ($text !== 'open');
}

/** Another connection holds the database's lock until the gate opens; SQLite sleeps and tries again. */
function sqlite_until_open(): void
{
    $database = new PDO('sqlite:locked.db', options: [PDO::ATTR_TIMEOUT => 60]);
    $database->exec('INSERT INTO t VALUES (1)');
}

function flock_until_open(): void
{
    $file = fopen('locked', 'c');
    flock($file, LOCK_EX);
    flock($file, LOCK_UN);
}

/** The server that the parked requests ask: it answers when the gate opens. */
function slow(): string
{
    sleep_until_open();

    return 'open';
}

final class Bottomless
{
    public function __get(string $name): mixed
    {
        return $this->{$name . 'x'};
    }

    public function __toString(): string
    {
        return "$this";
    }
}

function recurse(int $n): int
{
    return 1 + recurse($n + 1);
}

function recurse_by_map(array $list): array
{
    return array_map(recurse_by_map(...), [$list]);
}

function recurse_by_sort(): void
{
    $list = [2, 1];
    usort($list, function () {
        recurse_by_sort();

        return 0;
    });
}

function failing(string $how): mixed
{
    echo 'said before the end; ';
    usleep(100);
    switch ($how) {
        case 'exit':
            exit;
        case 'exit-text':
            exit('left');
        case 'die-in-shutdown':
            register_shutdown_function(fn () => exit('from shutdown'));

            return 'returned; ';
        case 'throw':
            throw new RuntimeException('thrown');
        case 'throw-in-shutdown':
            register_shutdown_function(fn () => throw new RuntimeException('late'));

            return 'returned; ';
        case 'throw-in-destructor':
            $object = new class {
                public function __destruct()
                {
                    throw new RuntimeException('from destructor');
                }
            };
            unset($object);

            return 'not reached';
        case 'throw-in-output-callback':
            ob_start(fn () => throw new RuntimeException('from callback'));
            echo 'x';

            return null;
        case 'type-error':
            return strlen([]);
        case 'undefined-function':
            return no_such_function();
        case 'undefined-class':
            return new No\Such\Thing();
        case 'undefined-method':
            return (new ArrayObject())->no_such_method();
        case 'memory':
            return str_repeat('x', 1 << 40);
        case 'memory-slowly':
            for ($all = [];;) {
                $all[] = str_repeat('x', 1 << 20);
            }
        case 'recursion':
            return recurse(0);
        case 'recursion-map':
            return recurse_by_map([]);
        case 'recursion-sort':
            recurse_by_sort();

            return 'not reached';
        case 'recursion-get':
            return (new Bottomless())->x;
        case 'recursion-string':
            return (string) new Bottomless();
        case 'compile-error':
            return include 'compile-error.inc';
        case 'parse-error':
            return include 'parse-error.inc';
        case 'missing':
            return require 'missing.inc';
        case 'redeclare':
            return include 'redeclare.inc';
        case 'trigger-fatal':
            trigger_error('user error', E_USER_ERROR);

            return 'not reached';
        case 'fiber-throw':
            (new Fiber(function () {
                usleep(100);
                throw new RuntimeException('in a fiber');
            }))->start();

            return 'not reached';
        case 'fiber-exit':
            (new Fiber(function () {
                usleep(100);
                exit('left by a fiber');
            }))->start();

            return 'not reached';
        case 'fiber-memory':
            (new Fiber(fn () => str_repeat('x', 1 << 40)))->start();

            return 'not reached';
        case 'time':
            set_time_limit(1);
            while (true) {
            }
    }

    return 'unknown';
}

return fn (Request $request) => match ($request->path()) {
    '/parked' => parked($request),
    '/slow' => slow(),
    '/fail' => failing($request->query('how')),
    '/wait' => (function () {
        sleep_until_open();

        return 'waited';
    })(),
    '/limited' => (function () {
        set_time_limit(1);
        file_put_contents('limited', 'yes');
        sleep_until_open();

        return 'waited';
    })(),
    '/compute' => (function () {
        for ($end = hrtime(true) + 1_500_000_000; hrtime(true) < $end;) {
        }

        return 'computed';
    })(),
    '/pid' => (string) getmypid(),
    '/crash' => FFI::cast('int *', FFI::new('long'))[0],
    default => 'ok',
};
