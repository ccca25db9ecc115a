<?php

declare(strict_types=1);

/**
 * PHP's own part of a request, each primitive alone. Prints one JSON object with nanoseconds per operation, minus
 * the cost of the empty loop. Runs under `php` and under `weft php`: the difference is what the server adds.
 */
const ROUNDS = 300_000;
const ROUNDS_OF_WAITS = 5_000;
const PAIRS = 50;

/** Too large for the optimizer to inline the call. */
function nothing(int $depth = 0): string
{
    return $depth > 0 ? nothing($depth - 1) : 'Hello World';
}

/** @param callable(int): void $loop runs its operation as often as it is told */
function ns(callable $loop, int $rounds = ROUNDS): float
{
    $loop(100);
    $start = hrtime(true);
    $loop($rounds);

    return (hrtime(true) - $start) / $rounds;
}

$empty = ns(function (int $rounds): void {
    for ($i = 0; $i < $rounds; $i++) {
    }
});
$closure = fn (object $request): string => 'Hello World';
$argument = new stdClass();

$costs = [
    'a function call' => ns(function (int $rounds): void {
        for ($i = 0; $i < $rounds; $i++) {
            nothing();
        }
    }),
    'a closure call with an object' => ns(function (int $rounds) use ($closure, $argument): void {
        for ($i = 0; $i < $rounds; $i++) {
            $closure($argument);
        }
    }),
    'an object made and dropped' => ns(function (int $rounds): void {
        for ($i = 0; $i < $rounds; $i++) {
            new stdClass();
        }
    }),
    'a fiber resumed and suspended' => ns(function (int $rounds): void {
        $fiber = new Fiber(function (): void {
            while (true) {
                Fiber::suspend();
            }
        });
        $fiber->start();
        for ($i = 0; $i < $rounds; $i++) {
            $fiber->resume();
        }
    }),
    'a fiber made, run, dropped' => ns(function (int $rounds): void {
        for ($i = 0; $i < $rounds; $i++) {
            (new Fiber(nothing(...)))->start();
        }
    }),
    'usleep(0)' => ns(function (int $rounds): void {
        for ($i = 0; $i < $rounds; $i++) {
            usleep(0);
        }
    }, ROUNDS_OF_WAITS),
    // Two system calls, neither of which has to wait. The time that weft takes longer than php is the cost of
    // two hooks.
    'a byte sent and received, ready at once' => ns(function (int $rounds): void {
        socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
        for ($i = 0; $i < $rounds; $i++) {
            socket_send($pair[0], 'x', 1, 0);
            socket_recv($pair[1], $byte, 1, 0);
        }
    }),
];
if (function_exists('Weft\go')) {
    $costs['go() and await()'] = ns(function (int $rounds): void {
        for ($i = 0; $i < $rounds; $i++) {
            Weft\go(nothing(...))->await();
        }
    }, ROUNDS_OF_WAITS);
    $costs['a value sent to a channel and received'] = ns(function (int $rounds): void {
        $channel = new Weft\Channel(16);
        for ($i = 0; $i < $rounds; $i++) {
            $channel->send($i);
            $channel->receive();
        }
    });
    $costs['a free mutex locked and unlocked'] = ns(function (int $rounds): void {
        $mutex = new Weft\Mutex();
        for ($i = 0; $i < $rounds; $i++) {
            $mutex->lock();
            $mutex->unlock();
        }
    });
    $costs['a permit of a semaphore taken and given back'] = ns(function (int $rounds): void {
        $semaphore = new Weft\Semaphore(2);
        for ($i = 0; $i < $rounds; $i++) {
            $semaphore->acquire();
            $semaphore->release();
        }
    });
    // The same two calls and a wait. The time beyond the row above is the cost of parking and resuming, with the
    // descriptors' registrations kept from wait to wait.
    $costs['a byte sent and received, the receiver parks'] = ns(function (int $rounds): void {
        $turns = intdiv($rounds, PAIRS * 2);
        $play = function (Socket $mine, bool $begins) use ($turns): void {
            for ($i = 0; $i < $turns; $i++) {
                $begins && socket_send($mine, 'x', 1, 0);
                socket_recv($mine, $byte, 1, 0);
                $begins || socket_send($mine, 'x', 1, 0);
            }
        };
        $players = [];
        for ($i = 0; $i < PAIRS; $i++) {
            socket_create_pair(AF_UNIX, SOCK_STREAM, 0, $pair);
            $players[] = Weft\go($play, $pair[0], true);
            $players[] = Weft\go($play, $pair[1], false);
        }
        foreach ($players as $player) {
            $player->await();
        }
    });
}

echo json_encode(array_map(fn (float $cost): float => round(max(0.0, $cost - $empty), 1), $costs)), "\n";
