<?php

declare(strict_types=1);

require_once __DIR__ . '/../../support/memcached.php';

return [
    'open' => static fn (): Memcached => connect(slow: true, persistent: 'cut'),
    'ask' => static function (Memcached $memcached, string $text): string {
        $key = 'asked-' . strtr($text, ' ', '-');
        connect()->set($key, $text);

        return (string) $memcached->get($key);
    },
    'slow' => static function (Memcached $memcached): mixed {
        connect()->set('alice', 'alice');

        return $memcached->get('alice');
    },
    'half' => static function (Memcached $memcached): mixed {
        connect()->set('alice', 'alice');
        $memcached->getDelayed(['alice', 'nobody', 'alice']);

        return $memcached;
    },
];
