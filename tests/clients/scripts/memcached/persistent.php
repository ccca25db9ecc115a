<?php

/* ext-memcached, a persistent id: requests that run at the same time each have their own connections. */

declare(strict_types=1);

require_once __DIR__ . '/../../support/memcached.php';

return [
    'prints' => static function (): void {
        $id = bin2hex(random_bytes(8));
        var_dump(connect(persistent: $id)->isPristine());
        $again = connect(persistent: $id);
        var_dump($again->isPristine(), count($again->getServerList()), $again->isPersistent());
    },
    'waits' => static function (int $n): string {
        connect()->set("persistent$n", $n);

        return (string) connect(slow: true, persistent: 'waits')->get("persistent$n");
    },
];
