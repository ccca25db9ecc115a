<?php

/* ext-memcached, text protocol. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/memcached.php';

return [
    'prints' => static function (): void {
        $memcached = connect();
        $key = bin2hex(random_bytes(8));
        var_dump($memcached->set($key, ['an' => 'array']), $memcached->get($key), $memcached->add($key, 1));
        var_dump($memcached->getResultMessage(), $memcached->set($key, '41'), $memcached->increment($key));
        $many = [];
        for ($i = 0; $i < 500; $i++) {
            $many["$key$i"] = str_repeat((string) ($i % 10), 1500);
        }
        var_dump($memcached->setMulti($many), $memcached->getMulti(array_keys($many)) === $many);
        $cas = $memcached->get($key, null, Memcached::GET_EXTENDED)['cas'];
        var_dump($memcached->cas($cas, $key, 'swapped'), $memcached->cas($cas, $key, 'late'), $memcached->get($key));
        var_dump($memcached->delete($key), $memcached->get($key), $memcached->getResultCode() === Memcached::RES_NOTFOUND);
        $memcached->getDelayed(array_keys(array_slice($many, 0, 3)), false);
        var_dump(count($memcached->fetchAll()));
        $down = new Memcached();
        $down->addServer('127.0.0.1', 1);
        var_dump($down->get('key'), $down->getResultMessage());
    },
    'waits' => static function (int $n): string {
        connect()->set("text$n", $n);

        return (string) connect(slow: true)->get("text$n");
    },
];
