<?php

declare(strict_types=1);

/** @param array<string, mixed> $more */
function connect(array $more = []): AMQPConnection
{
    $connection = new AMQPConnection($more + ['host' => '127.0.0.1', 'port' => (int) getenv('RABBITMQ_PORT')]);
    $connection->connect();

    return $connection;
}

/** A private queue, which is deleted with the connection. @param array<string, mixed> $arguments */
function queue(AMQPChannel $channel, array $arguments = []): AMQPQueue
{
    $queue = new AMQPQueue($channel);
    $queue->setFlags(AMQP_EXCLUSIVE);
    $queue->setArguments($arguments);
    $queue->declareQueue();

    return $queue;
}

/** Sends a message that reaches the queue only after that time. */
function later(AMQPChannel $channel, AMQPQueue $queue, string $message, int $milliseconds): void
{
    $delay = queue($channel, ['x-message-ttl' => $milliseconds, 'x-dead-letter-exchange' => '', 'x-dead-letter-routing-key' => $queue->getName()]);
    (new AMQPExchange($channel))->publish($message, $delay->getName());
}

/** Publishes a message that reaches a queue two seconds later, and consumes it there; returns its text. */
function consumed(AMQPConnection $connection, string $message): string
{
    $channel = new AMQPChannel($connection);
    $queue = queue($channel);
    later($channel, $queue, $message, 2000);
    $body = '';
    $queue->consume(static function (AMQPEnvelope $envelope) use (&$body): bool {
        $body = $envelope->getBody();

        return false;
    }, AMQP_AUTOACK);

    return $body;
}
