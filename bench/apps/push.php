<?php
use Weft\Http\Request;
use Weft\Tcp;
use Weft\Topic;
use Weft\WebSocket\Accept;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Service;

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

/** Publishes to all, or to so many clients each what it alone hears. */
function publish(Request $request): string
{
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
    '/raw' => new Lines(),
]);
