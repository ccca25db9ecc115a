<?php
use Weft\Http\Request;
use Weft\Tcp;
use Weft\Topic;
use Weft\WebSocket\Accept;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Conversation;
use Weft\WebSocket\Overflow;
use Weft\WebSocket\Service;
use Weft\WebSocket\Socket;

/** Idle clients: each has the topic of all, and one of its own. */
final class Crowd extends Service
{
    public function authorise(Request $request): Accept|bool
    {
        $number = $request->query('number');

        return is_string($number) && ctype_digit($number) ? new Accept(attributes: ['number' => $number]) : false;
    }

    public function opened(Connection $connection): void
    {
        $connection->subscribe('all');
        $connection->subscribe("own:{$connection->get('number')}");
        $connection->send('welcome');
    }

    public function message(Connection $connection, string $message, bool $binary): void {}
}

final class Echoes extends Service
{
    public function opened(Connection $connection): void
    {
        $connection->send('welcome');
    }

    public function message(Connection $connection, string $message, bool $binary): void
    {
        $connection->send($message);
    }
}

/** The same as a conversation. */
final class Talk extends Conversation
{
    public function converse(Socket $socket): void
    {
        $socket->send('welcome');
        foreach ($socket as $message) {
            $socket->send($message->data);
        }
    }
}

/** For clients that do not read: they lose what they have not taken. */
final class News extends Service
{
    public function opened(Connection $connection): void
    {
        $connection->send('welcome');
        $connection->subscribe('news');
    }

    public function message(Connection $connection, string $message, bool $binary): void {}

    public function overflow(): Overflow
    {
        return Overflow::DropOldest;
    }
}

/** What one client says, those hear who have said "listen". The welcome says which worker a client has. */
final class Relay extends Service
{
    public function opened(Connection $connection): void
    {
        $connection->send((string) getmypid());
    }

    public function message(Connection $connection, string $message, bool $binary): void
    {
        if ($message === 'listen') {
            $connection->subscribe('relay');
            $connection->send('you do');
        } else {
            Topic::publish('relay', $message, binary: false);
        }
    }
}

final class Lines extends Tcp\Service
{
    public function framing(): Tcp\Framing
    {
        return Tcp\Framing::raw();
    }

    public function message(Tcp\Connection $connection, string $message): void
    {
        $connection->send($message);
    }
}

/** 10,000 bytes, a hundred times a second. */
function flood(float $seconds): void
{
    $due = microtime(true);
    for ($end = $due + $seconds; $due < $end; $due += 0.01) {
        Topic::publish('news', str_repeat('x', 10_000), binary: false);
        usleep(max(0, (int) (1e6 * ($due + 0.01 - microtime(true)))));
    }
}

/** Publishes to all, or to so many clients each what it alone hears, or for some time. */
function publish(Request $request): string
{
    if ($request->path() === '/flood') {
        flood((float) $request->query('seconds'));
    }
    $sequence = (int) $request->query('sequence');
    if ($request->path() === '/common') {
        Topic::publish('all', str_pad("c $sequence ", 100, '.'), binary: false);
    } elseif ($request->path() === '/own') {
        $first = (int) $request->query('first');
        for ($number = $first; $number < $first + (int) $request->query('count'); $number++) {
            Topic::publish("own:$number", "o $number $sequence", binary: false);
        }
    }

    return 'Hello World';
}

return new Weft\Application(publish(...), [
    '/crowd' => new Crowd(),
    '/echo' => new Echoes(),
    '/relay' => new Relay(),
    '/talk' => new Talk(),
    '/news' => new News(),
    '/raw' => new Lines(),
]);
