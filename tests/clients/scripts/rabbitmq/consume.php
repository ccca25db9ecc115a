<?php

/* ext-amqp: publish, consume, acknowledge, reject. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/rabbitmq.php';

return [
    'seconds' => 2.0,
    'prints' => static function (): void {
        $channel = new AMQPChannel(connect());
        $channel->qos(0, 1);
        $queue = queue($channel);
        $exchange = new AMQPExchange($channel);
        foreach (['one', 'two', str_repeat('three', 100_000)] as $i => $text) {
            $exchange->publish($text, $queue->getName(), AMQP_NOPARAM, ['message_id' => "m$i", 'headers' => ['n' => $i]]);
        }
        $count = 0;
        $queue->consume(static function (AMQPEnvelope $message, AMQPQueue $queue) use (&$count): bool {
            echo $message->getMessageId(), ' ', md5($message->getBody()), ' ', json_encode($message->getHeaders());
            echo $message->isRedelivery() ? " again\n" : "\n";
            if ($count === 0 && !$message->isRedelivery()) {
                $queue->nack($message->getDeliveryTag(), AMQP_REQUEUE);
            } else {
                $queue->ack($message->getDeliveryTag());
                $count++;
            }

            return $count < 3;
        });
        $queue->cancel();
        var_dump($queue->get());
    },
    'waits' => static fn (int $n): string => consumed(connect(), (string) $n),
];
