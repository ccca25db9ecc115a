<?php

declare(strict_types=1);

require_once __DIR__ . '/../../support/rabbitmq.php';

return [
    'open' => static function (): AMQPConnection {
        $connection = new AMQPConnection(['host' => '127.0.0.1', 'port' => (int) getenv('RABBITMQ_PORT')]);
        $connection->pconnect();

        return $connection;
    },
    'ask' => static function (AMQPConnection $connection, string $text): string {
        $channel = new AMQPChannel($connection);
        $queue = queue($channel);
        (new AMQPExchange($channel))->publish($text, $queue->getName());
        while (!$message = $queue->get(AMQP_AUTOACK)) {
            usleep(5_000);
        }

        return $message->getBody();
    },
    // Not consume(): it makes channel and queue keep each other, and the connection, alive until the garbage
    // collector runs.
    'slow' => static function (AMQPConnection $connection): mixed {
        $channel = new AMQPChannel($connection);
        $channel->setReturnCallback(static fn (): bool => false);

        // It throws when the time is up: on a busy machine that must not come before the request is cut short.
        return $channel->waitForBasicReturn(30.0);
    },
    'half' => static function (AMQPConnection $connection): mixed {
        $channel = new AMQPChannel($connection);
        $channel->startTransaction();
        $queue = queue($channel);
        (new AMQPExchange($channel))->publish('alice', $queue->getName());

        return [$connection, $channel, $queue];
    },
];
