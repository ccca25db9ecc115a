<?php

use Weft\Coroutine;
use Weft\Http\Request;
use Weft\Http\Response;
use Weft\WebSocket\Accept;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Overflow;
use Weft\WebSocket\Service;

ini_set('memory_limit', '256M');

/** Writes down what happens, and does what the messages say. */
final class Dialogue extends Service
{
    /** @var array<string, Connection> */
    public static array $kept = [];

    /** @var list<string> */
    public static array $calls = [];

    public function authorise(Request $request): Accept|Response|bool
    {
        $user = $request->query('user');

        return match ($user) {
            null => Response::text("who is there?\n", 401)->setHeader('WWW-Authenticate', 'Custom'),
            'refused' => false,
            'plain' => true,
            'large' => new Accept(attributes: ['user' => str_repeat('x', 1025)]),
            'other-protocol' => new Accept(protocol: 'other'),
            'thrown' => throw new LogicException('authorise has thrown'),
            default => new Accept(
                $request->header('Sec-WebSocket-Protocol') === null ? null : 'chat.v2',
                ['user' => $user],
                ['Set-Cookie' => 'a=b', 'Sec-WebSocket-Accept' => 'nonsense'],
            ),
        };
    }

    public function opened(Connection $connection): void
    {
        $user = $connection->get('user') ?? 'nobody';
        self::$kept[$user] = $connection;
        self::$calls[] = "opened $user";
        $connection->send("hello $user");
    }

    public function message(Connection $connection, string $message, bool $binary): void
    {
        $user = $connection->get('user') ?? 'nobody';
        self::$calls[] = $user . ($binary ? ' binary ' : ' text ') . strlen($message);
        [$word, $rest] = explode(' ', $message, 2) + [1 => ''];
        match ($word) {
            'wait' => usleep(1000 * (int) $rest),
            'sleep' => sleep(60),
            'throw' => throw new LogicException("thrown for $user"),
            'exit' => exit('x'),
            'fatal' => str_repeat('x', 1 << 30),
            'close' => $connection->close(4000, $rest),
            'remember' => $connection->set('note', $rest),
            'note' => $connection->send('note ' . ($connection->get('note') ?? 'none')),
            'try' => $connection->send(self::attempt($connection, $rest)),
            'state' => $connection->send(json_encode([$_GET, Coroutine::current(), count(Coroutine::list())])),
            default => null,
        };
        if (!in_array($word, ['note', 'try', 'state', 'remember'], true)) {
            $connection->send($message, $binary);
        }
    }

    private static function attempt(Connection $connection, string $what): string
    {
        try {
            return match ($what) {
                'code' => (string) $connection->close(1005),
                'reason' => (string) $connection->close(1000, str_repeat('x', 124)),
                'text' => (string) $connection->send("\xff"),
                'attribute' => (string) $connection->set('a', str_repeat('x', 2000)),
            };
        } catch (ValueError $e) {
            return $e->getMessage();
        }
    }

    public function closed(Connection $connection, int $code, string $reason): void
    {
        $user = $connection->get('user') ?? 'nobody';
        self::$calls[] = "closed $user $code $reason";
        self::$calls[] = json_encode([$connection->isOpen(), $connection->send('too late'), $connection->close()]);
    }

    public function origins(): array
    {
        return ['https://friend.example'];
    }
}

final class Slow extends Service
{
    public function message(Connection $connection, string $message, bool $binary): void
    {
        $body = str_repeat('x', 10_000);
        $sent = 0;
        while ($sent < 100_000 && $connection->send($body)) {
            $sent++;
        }
        Dialogue::$calls[] = "sent less than 100000: " . json_encode($sent < 100_000) . ' ' . json_encode($connection->waitingBytes() <= 300_000);
    }

    public function overflow(): Overflow
    {
        return Overflow::DropNewest;
    }
}

return new Weft\Application(
    function (Request $request): Response {
        return match ($request->path()) {
            '/calls' => Response::json(Dialogue::$calls),
            '/coroutines' => Response::text((string) count(Coroutine::list())),
            '/kept' => Response::json(array_map(
                fn (Connection $kept) => [$kept->isOpen(), $kept->get('user'), $kept->send('from http'), $kept->waitingBytes() >= 0],
                Dialogue::$kept,
            )),
            '/foreign' => Response::json((new Connection('0-0-w100000000'))->send('x')),
            default => Response::text("page {$request->path()}\n"),
        };
    },
    ['/dialogue' => new Dialogue(), '/slow' => new Slow()],
);
