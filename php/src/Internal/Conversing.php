<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Tcp;
use Weft\WebSocket;

use function Weft\go;

/**
 * What the coroutine does that a connection belongs to. It is the task's callable, so that nothing else is kept for the connection.
 *
 * Invariant: the connection is given up once, whatever ends the coroutine, exit() and exceptions included.
 *
 * @internal
 */
final class Conversing
{
    private const NORMAL = 1000;
    private const FAILED = 1011;
    private const TRY_AGAIN_LATER = 1013;

    private bool $owns = true;

    private function __construct(
        private readonly WebSocket\Conversation|Tcp\Conversation $conversation,
        private readonly WebSocket\Connection|Tcp\Connection $connection,
        private readonly ?Protocol $protocol,
    ) {}

    /**
     * A connection of a conversation is open: the coroutine that it belongs to begins.
     *
     * @param ?Protocol $protocol what tells messages of TCP apart, if a PHP class does
     */
    public static function begin(
        WebSocket\Conversation|Tcp\Conversation $conversation,
        WebSocket\Connection|Tcp\Connection $connection,
        ?Protocol $protocol = null,
    ): void {
        $work = new self($conversation, $connection, $protocol);
        try {
            go($work);
        } catch (\Error $error) {
            $work->giveUp(self::TRY_AGAIN_LATER);
            throw $error;
        }
    }

    public function __invoke(): void
    {
        if ($this->conversation instanceof WebSocket\Conversation) {
            \assert($this->connection instanceof WebSocket\Connection);
            $this->conversation->converse(new WebSocket\Socket($this->connection));
        } else {
            \assert($this->connection instanceof Tcp\Connection);
            $this->conversation->converse(new Tcp\Socket($this->connection, $this->protocol));
        }
        $this->giveUp(self::NORMAL);
    }

    public function __destruct()
    {
        $this->giveUp(self::FAILED);
    }

    private function giveUp(int $code): void
    {
        if ($this->owns) {
            $this->owns = false;
            websocket_disown($this->connection->id, $code);
        }
    }
}
