<?php

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Tcp\Connection;
use Weft\Tcp\Conversation;
use Weft\Tcp\Framing;
use Weft\Tcp\Service;
use Weft\Tcp\Socket;
use Weft\TimeoutException;
use Weft\WebSocket\Overflow;

/** What has happened, for the tests. */
final class Calls
{
    /** @var list<string> */
    public static array $all = [];

    /** @var list<Connection> */
    public static array $kept = [];
}

/** Answers each message with itself, and does what some say. */
class EchoService extends Service
{
    public function __construct(private readonly Framing $framing) {}

    public function framing(): Framing
    {
        return $this->framing;
    }

    public function opened(Connection $connection): void
    {
        Calls::$kept[] = $connection;
        Calls::$all[] = 'opened ' . (filter_var(explode(':', (string) $connection->client())[0], FILTER_VALIDATE_IP) ? 'ip' : '?');
    }

    public function message(Connection $connection, string $message): void
    {
        Calls::$all[] = 'message ' . strlen($message);
        [$word, $rest] = explode(' ', $message, 2) + [1 => ''];
        switch ($word) {
            case 'close':
                $connection->send($rest);
                $connection->close();
                return;
            case 'throw':
                throw new LogicException('thrown over TCP');
            case 'wait':
                usleep(1000 * (int) $rest);
                break;
            case 'sleep':
                sleep(60);
                break;
            case 'set':
                $connection->set('note', $rest);
                break;
            case 'client':
                $message = (string) $connection->client();
                break;
            case 'get':
                $message = (string) $connection->get('note');
                break;
            case 'bad':
                try {
                    $connection->send(str_repeat("a\r\nb\n", (int) $rest));
                } catch (ValueError $e) {
                    $message = $e->getMessage();
                }
                break;
            case 'id':
                $message = getmypid() . " {$connection->id}";
                break;
            case 'file':
                $arguments = explode(' ', $rest);
                try {
                    if (!$connection->sendFile($arguments[0], ...array_map(intval(...), array_slice($arguments, 1)))) {
                        Calls::$all[] = 'not sent';
                    }
                } catch (ValueError $e) {
                    $connection->send($e->getMessage());
                }
                break;
            case 'flood':
                $sent = 0;
                while ($sent < 100_000 && $connection->send(str_repeat('x', 10_000))) {
                    ++$sent;
                }
                Calls::$all[] = 'flooded ' . json_encode([$sent < 100_000, $connection->waitingBytes() <= 1_100_000]);
                return;
        }
        $connection->send($message);
    }

    public function closed(Connection $connection, string $reason): void
    {
        Calls::$all[] = "closed $reason";
        Calls::$all[] = json_encode([$connection->isOpen(), $connection->send('late'), $connection->close(), $connection->client()]);
    }
}

/** Drops what a slow client does not take. */
final class Dropping extends EchoService
{
    public function overflow(): Overflow
    {
        return Overflow::DropNewest;
    }
}

/** Waits for its client. */
final class Patient extends Service
{
    private int $sent = 0;

    public function framing(): Framing
    {
        return Framing::length();
    }

    public function message(Connection $connection, string $message): void
    {
        $this->drained($connection);
    }

    public function drained(Connection $connection): void
    {
        while ($this->sent < 3_000 && $connection->waitingBytes() < 100_000) {
            $connection->send(str_pad((string) $this->sent++, 10_000));
        }
    }
}

/** A protocol as those of Workerman: the length of all in ten digits, then the message in capitals on its way back. */
final class Digits
{
    public static function input(string $buffer, object $connection): int|false
    {
        if (!ctype_digit(substr($buffer, 0, 10))) {
            return false;
        }

        return strlen($buffer) < 10 ? 0 : (int) substr($buffer, 0, 10);
    }

    public static function decode(string $frame, object $connection): string
    {
        return substr($frame, 10);
    }

    public static function encode(string $message, object $connection): string
    {
        return sprintf('%010d%s', strlen($message) + 10, $message);
    }
}

/** A dialogue: one coroutine for each connection. */
final class Dialogue extends Conversation
{
    public function __construct(private readonly Framing $framing) {}

    public function framing(): Framing
    {
        return $this->framing;
    }

    public function converse(Socket $socket): void
    {
        $socket->send('name?');
        $name = $socket->receive();
        $count = 0;
        foreach ($socket as $message) {
            ++$count;
            if ($message === 'throw') {
                throw new LogicException('thrown in a dialogue');
            }
            if ($message === 'wait') {
                try {
                    $socket->receive(0.05);
                } catch (TimeoutException $e) {
                    $message = $e->getMessage();
                }
            }
            if (str_starts_with($message, 'file ')) {
                $socket->sendFile(substr($message, 5), 1);
                $message = 'flushed ' . json_encode($socket->flush()) . " {$socket->connection->waitingBytes()}";
            }
            if ($message === 'flood') {
                for ($i = 0; $i < 2_000; ++$i) {
                    $socket->send(str_repeat('x', 10_000));
                    if ($socket->connection->waitingBytes() > 100_000) {
                        $socket->flush();
                    }
                }
            }
            $socket->send("$name: $message");
        }
        // A client that has ended its side still receives.
        $socket->send("bye $name, $count");
        Calls::$all[] = "conversation $name $count";
    }
}

/** Sends a file on a connection of any worker. */
function file_to(string $id, string $name): array
{
    try {
        return [getmypid(), (new Connection($id))->sendFile($name)];
    } catch (ValueError $e) {
        return [getmypid(), $e->getMessage()];
    }
}

return new Weft\Application(
    fn (Request $request): Response => match ($request->path()) {
        '/calls' => Response::json(Calls::$all),
        // In one function, so that its worker does nothing else.
        '/compute' => Response::text((file_put_contents('computes', 'x') ?: '') . hash_pbkdf2('sha512', 'a', 'b', 1_000_000)),
        '/kept' => Response::json(array_map(fn (Connection $kept) => [$kept->isOpen(), $kept->send('from http')], Calls::$kept)),
        '/waiting' => Response::text((string) Calls::$kept[0]->waitingBytes()),
        '/file' => Response::json(file_to($request->query('id'), $request->query('name'))),
        '/coroutines' => Response::text((string) count(Weft\Coroutine::list())),
        default => Response::text("page\n"),
    },
    [
        '/lines' => new EchoService(Framing::delimiter("\r\n")),
        '/length' => new EchoService(Framing::length()),
        '/short' => new EchoService(Framing::length(2, littleEndian: true, inclusive: true)),
        '/raw' => new EchoService(Framing::raw()),
        '/digits' => new EchoService(Framing::protocol(Digits::class)),
        '/dropping' => new Dropping(Framing::delimiter("\n")),
        '/patient' => new Patient(),
        '/dialogue' => new Dialogue(Framing::delimiter("\n")),
        '/dialogue-digits' => new Dialogue(Framing::protocol(Digits::class)),
    ],
);
