<?php

/* ext-amqp: get, exchanges, bindings, transactions, errors of the server. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/rabbitmq.php';

return [
    'prints' => static function (): void {
        $connection = connect();
        $channel = new AMQPChannel($connection);
        $queue = queue($channel);
        $exchange = new AMQPExchange($channel);
        $exchange->setName('e' . bin2hex(random_bytes(8)));
        $exchange->setType(AMQP_EX_TYPE_TOPIC);
        $exchange->setFlags(AMQP_AUTODELETE);
        $exchange->declareExchange();
        $queue->bind($exchange->getName(), 'a.#');
        $channel->startTransaction();
        $exchange->publish('rolled back', 'a.b');
        $channel->rollbackTransaction();
        $exchange->publish('kept', 'a.b');
        $exchange->publish('for nobody', 'b');
        $channel->commitTransaction();
        $message = $queue->get(AMQP_AUTOACK);
        var_dump($message->getBody(), $message->getRoutingKey(), $queue->get(AMQP_AUTOACK));
        try {
            (new AMQPQueue(new AMQPChannel($connection)))->setName('nowhere');
            $missing = new AMQPQueue(new AMQPChannel($connection));
            $missing->setName('nowhere');
            $missing->setFlags(AMQP_PASSIVE);
            $missing->declareQueue();
        } catch (AMQPQueueException $e) {
            echo $e->getMessage(), "\n";
        }
        try {
            connect(['port' => 1]);
        } catch (AMQPConnectionException $e) {
            echo $e->getMessage(), "\n";
        }
    },
    'waits' => static function (int $n): string {
        $channel = new AMQPChannel(connect());
        $queue = queue($channel);
        later($channel, $queue, (string) $n, 500);
        while (!($message = $queue->get(AMQP_AUTOACK))) {
            usleep(50_000);
        }

        return $message->getBody();
    },
];
