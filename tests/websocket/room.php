<?php

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Topic;
use Weft\WebSocket\Connection;
use Weft\WebSocket\Overflow;
use Weft\WebSocket\Service;

/** Does with topics what the messages say. */
class Room extends Service
{
    public function opened(Connection $connection): void
    {
        $connection->send(getmypid() . " {$connection->id}");
    }

    public function message(Connection $connection, string $message, bool $binary): void
    {
        [$word, $topic, $rest] = explode(' ', $message, 3) + ['', '', ''];
        try {
            $said = match ($word) {
                'join' => $connection->subscribe($topic),
                'label' => $connection->subscribe($topic, labelled: true),
                'resume' => $connection->resume($topic, $rest),
                'recent' => $connection->subscribe($topic, recent: (int) $rest),
                'recent-labelled' => $connection->subscribe($topic, labelled: true, recent: (int) $rest),
                'resume-or-recent' => $connection->resume($topic, $rest, recent: 2),
                'leave' => $connection->unsubscribe($topic),
                'topics' => self::sorted($connection),
                'say' => Topic::publish($topic, $rest),
                'others' => Topic::publish($topic, $rest, except: $connection),
                'all-but' => self::publishExcept($topic, $rest),
                'bytes' => Topic::publish($topic, $rest, true),
                'state' => Topic::publish($topic, $rest, key: explode(' ', $rest)[0]),
                'flood' => self::flood($topic, (int) $rest),
                'many' => self::many($connection),
                'attend' => $connection->attend($topic, $rest),
                'set' => $connection->set($topic, $rest),
                default => self::ask($word, $topic, $rest),
            };
        } catch (Throwable $failed) {
            $said = $failed::class . ': ' . $failed->getMessage();
        }
        if (!in_array($word, ['say', 'others', 'all-but', 'bytes', 'state'], true) || str_contains((string) $said, ':')) {
            $connection->send(is_string($said) ? $said : json_encode($said));
        }
    }

    /** What is asked about topics, and done with connections of other workers. */
    private static function ask(string $word, string $subject, string $rest): mixed
    {
        $other = new Connection($subject);
        [$name, $value] = explode(' ', $rest, 2) + ['', ''];

        return match ($word) {
            'count' => Topic::count($subject),
            'who' => array_map(static fn(Connection $one): string => $one->id, Topic::connections($subject)),
            'sessions' => Topic::attributes($subject),
            'list' => Topic::list($subject),
            'dissolve' => Topic::dissolve($subject),
            'present' => Topic::present($subject),
            'send' => $other->send($rest),
            'close' => $other->close((int) $name, $value),
            'open' => [$other->isOpen(), $other->waitingBytes()],
            'get' => [$other->get($rest), $other->attributes()],
            'put' => $other->set($name, $value),
            'large' => $other->set($name, str_repeat('x', 1025)),
            'subscribe' => $other->subscribe($rest),
            'subscribe-recent' => $other->subscribe($name, recent: (int) $value),
            'history' => array_map(strval(...), Topic::recent($subject, (int) $rest)),
            'unsubscribe' => $other->unsubscribe($rest),
            'subscriptions' => self::sorted($other),
        };
    }

    /** "id,id text": leaves these connections out. */
    private static function publishExcept(string $topic, string $rest): string
    {
        [$ids, $text] = explode(' ', $rest, 2);

        return Topic::publish($topic, $text, except: array_map(static fn(string $id) => new Connection($id), explode(',', $ids)));
    }

    private static function sorted(Connection $connection): array
    {
        $topics = $connection->topics();
        sort($topics);

        return $topics;
    }

    private static function flood(string $topic, int $count): bool
    {
        for ($number = 1; $number <= $count; $number++) {
            Topic::publish($topic, str_pad("$number ", 1000, '.'));
        }

        return true;
    }

    private static function many(Connection $connection): string
    {
        for ($number = 1; $number <= 64; $number++) {
            $connection->subscribe("many-$number");
        }
        $connection->subscribe('many-1'); // it is one of them

        return json_encode($connection->subscribe('many-65'));
    }
}

final class Tolerant extends Room
{
    public function overflow(): Overflow
    {
        return Overflow::DropOldest;
    }
}

final class Newest extends Room
{
    public function overflow(): Overflow
    {
        return Overflow::KeepNewest;
    }
}

return new Weft\Application(
    function (Request $request): Response {
        if ($request->path() === '/pid') {
            return Response::text((string) getmypid());
        }
        if ($request->path() === '/events') {
            return Response::events(topics: 'all');
        }
        if ($request->path() === '/recent') {
            return Response::events(topics: 'all', recent: 3);
        }
        $from = (int) $request->query('from');
        for ($number = $from; $number < $from + (int) $request->query('count'); $number++) {
            $id = Topic::publish($request->query('topic'), "{$request->query('by')} $number");
        }

        return Response::text($id);
    },
    ['/room' => new Room(), '/tolerant' => new Tolerant(), '/newest' => new Newest()],
);
