<?php

/* ext-amqp: publisher confirms, and time-outs of waiting for them and of reading. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/rabbitmq.php';

return [
    'prints' => static function (): void {
        $channel = new AMQPChannel(connect());
        $channel->confirmSelect();
        $channel->setConfirmCallback(static function (int $tag, bool $multiple): bool {
            echo "confirmed $tag\n";

            return false;
        });
        (new AMQPExchange($channel))->publish('text', queue($channel)->getName());
        $channel->waitForConfirm(10);
        try {
            $channel->waitForConfirm(0.01);
        } catch (AMQPQueueException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $channel = new AMQPChannel(connect(['read_timeout' => 0.5]));
        try {
            queue($channel)->consume(static fn (): bool => false);
        } catch (AMQPQueueException) {
            return (string) $n;
        }

        return 'no time-out';
    },
];
