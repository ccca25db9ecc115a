<?php

declare(strict_types=1);

namespace App\Message;

use Doctrine\DBAL\Connection;
use Symfony\Component\Messenger\Handler\MessageHandlerInterface;

final class CountWordsHandler implements MessageHandlerInterface
{
    public function __construct(private Connection $connection)
    {
    }

    public function __invoke(CountWords $message): void
    {
        $text = $this->connection->fetchOne('SELECT text FROM notes WHERE id = ?', [$message->note]);
        $words = count(preg_split('/\s+/', $text));
        $this->connection->update('notes', ['words' => $words], ['id' => $message->note]);
    }
}
