<?php

/* ext-amqp, pconnect(): requests that run at the same time each have their own connection. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/rabbitmq.php';

function kept(): AMQPConnection
{
    $connection = new AMQPConnection(['host' => '127.0.0.1', 'port' => (int) getenv('RABBITMQ_PORT')]);
    $connection->pconnect();

    return $connection;
}

return [
    'seconds' => 2.0,
    'prints' => static function (): void {
        $connection = kept();
        $queue = queue(new AMQPChannel($connection));
        var_dump($connection->isConnected(), $connection->isPersistent(), $queue->get());
    },
    'waits' => static fn (int $n): string => consumed(kept(), (string) $n),
];
