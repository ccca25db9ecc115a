<?php

declare(strict_types=1);

// The handler of bench/evolution's models, in PHP: it computes a page (a hash of 16 KiB, which differs by request), waits 10 ms at
// /wait, and says "Hello World". PHP's own function computes the hash, as the models' does.
require __DIR__ . '/page.php';

return static function (Weft\Http\Request $r): Weft\Http\Response {
    $hash = page((string) $r->query('id'));
    if ($r->path() === '/wait') {
        usleep(10_000);
    }

    return new Weft\Http\Response('Hello World', headers: ['X-Page' => $hash]);
};
