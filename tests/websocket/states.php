<?php

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Topic;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Overflow;
use Weft\WebSocket\Service;

/** Shows prices: of each only the last one counts. */
final class Board extends Service
{
    public function opened(Connection $connection): void
    {
        $connection->subscribe('prices');
        $connection->send(getmypid() . " {$connection->id}");
    }

    public function message(Connection $connection, string $message, bool $binary): void {}

    public function overflow(): Overflow
    {
        return Overflow::KeepNewest;
    }
}

/** Each of them many times, and now and then a trade, which is no state. */
function flood(int $rounds): string
{
    for ($round = 1; $round <= $rounds; $round++) {
        foreach (['copper', 'silver', 'gold'] as $metal) {
            Topic::publish('prices', str_pad("$metal $round ", 10_000, '.'), key: $metal);
        }
        if ($round % 50 === 0) {
            Topic::publish('prices', "trade $round");
        }
    }

    return 'done';
}

/** Twice the same key, to one connection. */
function tell(Connection $connection): array
{
    return [getmypid(), $connection->send('own 1', key: 'own'), $connection->send('own 2', key: 'own'), $connection->send('own end')];
}

function refused(Closure $call): string
{
    try {
        $call();
    } catch (ValueError $refused) {
        return $refused->getMessage();
    }

    return 'accepted';
}

return new Weft\Application(
    fn (Request $request): Response => match ($request->path()) {
        '/flood' => Response::text(flood((int) $request->query('rounds'))),
        '/say' => Response::text(Topic::publish('prices', $request->query('text'), key: $request->query('key') ?? '')),
        '/tell' => Response::json(tell(new Connection($request->query('id')))),
        '/waiting' => Response::text((string) (new Connection($request->query('id')))->waitingBytes()),
        '/events' => Response::events(topics: 'prices', overflow: Overflow::KeepNewest),
        '/long' => Response::json([
            refused(fn () => Topic::publish('prices', 'x', key: str_repeat('k', 256))),
            refused(fn () => Topic::publish('prices', 'x', key: str_repeat("\xff", 255))),
            refused(fn () => (new Connection($request->query('id')))->send('x', key: str_repeat('k', 256))),
        ]),
    },
    ['/board' => new Board()],
);
