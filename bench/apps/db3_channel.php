<?php

// The pool that one writes by hand: connections in a channel, taken for a request. Its statements are prepared by the client,
// which costs it one round trip each, as SharedPdo's cached ones do.

use Weft\Channel;
use Weft\Http\Request;

require __DIR__ . '/queries.php';

const CONNECTIONS = 16;

return function (Request $r): string {
    static $pool = null;
    if ($pool === null) {
        $pool = new Channel(CONNECTIONS);
        for ($i = 0; $i < CONNECTIONS; $i++) {
            $pool->send(new PDO(DSN, 'bench', 'bench'));
        }
    }
    $db = $pool->receive();
    try {
        return three_queries($db);
    } finally {
        $pool->send($db);
    }
};
