<?php

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Udp\Peer;
use Weft\Udp\Service;

/** Answers each datagram with itself, and does what some say. */
final class EchoDatagrams extends Service
{
    public static int $handled = 0;

    /** Until the test says so. */
    private static function hold(): void
    {
        while (!is_file(__DIR__ . '/released')) {
            usleep(10_000);
            clearstatcache();
        }
    }

    public function message(Peer $peer, string $message): void
    {
        [$word, $rest] = explode(' ', $message, 2) + ['', ''];
        match ($word) {
            'wait' => usleep(1000 * (int) $rest),
            'held' => self::hold(),
            'throw' => throw new LogicException('thrown over UDP'),
            default => null,
        };
        $answer = match ($word) {
            'who' => "{$peer->id}|{$peer->address()}",
            'pid' => (string) getmypid(),
            'large' => str_repeat('x', (int) $rest),
            default => $message,
        };
        try {
            $sent = $peer->send($answer);
        } catch (ValueError $error) {
            $sent = $peer->send($error->getMessage());
        }
        self::$handled += (int) $sent;
    }
}

return new Weft\Application(
    fn(Request $request) => match ($request->path()) {
        '/push' => Response::json((new Peer((string) $request->query('peer')))->send('pushed')),
        default => Response::text((string) EchoDatagrams::$handled),
    },
    ['/echo' => new EchoDatagrams(), '/other' => new EchoDatagrams()],
);
