<?php

/* ext-amqp over TLS. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/rabbitmq.php';

function secure(): AMQPConnection
{
    return connect(['port' => (int) getenv('RABBITMQ_TLS_PORT'), 'cacert' => getenv('RABBITMQ_CERTIFICATE'), 'verify' => false]);
}

return [
    'seconds' => 2.0,
    'prints' => static function (): void {
        $channel = new AMQPChannel(secure());
        $queue = queue($channel);
        (new AMQPExchange($channel))->publish(str_repeat('0123456789', 100_000), $queue->getName());
        while (!($message = $queue->get(AMQP_AUTOACK))) {
            usleep(1_000);
        }
        var_dump(md5($message->getBody()));
    },
    'waits' => static fn (int $n): string => consumed(secure(), (string) $n),
];
