<?php

require __DIR__ . '/items.php';

return static fn (Weft\Http\Request $r): Weft\Http\Response => new Weft\Http\Response(
    json_encode(items((int) $r->query('id')), JSON_THROW_ON_ERROR),
    headers: ['Content-Type' => 'application/json'],
);
