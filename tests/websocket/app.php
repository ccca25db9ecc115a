<?php

use Weft\Coroutine;
use Weft\Http\Request;
use Weft\Http\Response;
use Weft\WebSocket\Accept;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Conversation;
use Weft\WebSocket\Message;
use Weft\WebSocket\Overflow;
use Weft\WebSocket\Service;
use Weft\WebSocket\Socket;
use Weft\TimeoutException;

use function Weft\go;
use function Weft\timeout;

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
        Dialogue::$calls[] = "sent less than 100000: " . json_encode($sent < 100_000) . ' ' . json_encode($connection->waitingBytes() <= 1_100_000);
    }

    public function overflow(): Overflow
    {
        return Overflow::DropNewest;
    }
}

/** A service that waits for room instead of losing messages. */
final class Patient extends Service
{
    private int $sent = 0;

    public function message(Connection $connection, string $message, bool $binary): void
    {
        $this->drained($connection);
    }

    public function drained(Connection $connection): void
    {
        while ($this->sent < 3_000 && $connection->waitingBytes() < 100_000) {
            $connection->send(str_pad((string) $this->sent++, 10_000));
        }
        Dialogue::$calls[] = "waits at {$this->sent}";
    }
}

/** A dialogue as a conversation. */
final class Talk extends Conversation
{
    public static ?Socket $kept = null;

    public function authorise(Request $request): Accept|Response|bool
    {
        return new Accept(attributes: ['user' => (string) $request->query('user', '')]);
    }

    public function converse(Socket $socket): void
    {
        self::$kept = $socket;
        $user = $socket->connection->get('user');
        try {
            $socket->send("who are you, $user?");
            $first = $socket->receive();
            if ($first === null) {
                return;
            }
            foreach ($socket as $message) {
                $this->answer($socket, "$first: ", $message);
            }
        } finally {
            Dialogue::$calls[] = "conversation $user " . json_encode([$socket->closeCode(), $socket->closeReason()]);
        }
    }

    private function answer(Socket $socket, string $name, Message $message): void
    {
        [$word, $rest] = explode(' ', (string) $message, 2) + [1 => ''];
        switch ($word) {
            case 'throw':
                throw new LogicException('thrown in a conversation');
            case 'exit':
                exit('x');
            case 'leave':
                $socket->close(4001, $rest);
                return;
            case 'wait':
                try {
                    $next = (string) $socket->receive((float) $rest);
                    $socket->send("came: $next");
                } catch (TimeoutException $e) {
                    $socket->send($e->getMessage());
                }
                return;
            case 'timeout':
                try {
                    timeout((float) $rest, fn () => $socket->receive());
                } catch (TimeoutException $e) {
                    $socket->send($e->getMessage());
                }
                return;
            case 'second':
                $other = go(fn () => $socket->receive());
                try {
                    $socket->receive(0.01);
                } catch (TimeoutException|LogicException $e) {
                    $socket->send($e::class);
                }
                $other->cancel();
                return;
            case 'flood':
                $count = 0;
                while ($count < 2_000) {
                    $socket->send(str_repeat('x', 10_000));
                    ++$count;
                    if ($socket->connection->waitingBytes() > 100_000) {
                        $socket->flush();
                    }
                }
                $socket->send("sent $count");
                return;
            default:
                $socket->send($name . $message, $message->binary);
        }
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
            '/kept-socket' => Response::json([Talk::$kept?->send('late'), Talk::$kept?->receive(0.0)?->data, Talk::$kept?->flush()]),
            '/foreign' => Response::json((new Connection('0-0-w100000000'))->send('x')),
            default => Response::text("page {$request->path()}\n"),
        };
    },
    ['/dialogue' => new Dialogue(), '/slow' => new Slow(), '/patient' => new Patient(), '/talk' => new Talk()],
);
