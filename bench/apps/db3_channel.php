<?php

// A hand-written pool: connections in a channel, taken for one request. The client prepares its statements, which costs
// one round trip each, like SharedPdo's cached ones.

use Weft\Channel;
use Weft\Http\Request;

require __DIR__ . '/queries.php';

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
