<?php

declare(strict_types=1);

/** @param array<int, mixed> $options */
function pdo(array $options = [], string $sslmode = 'disable'): PDO
{
    return new PDO("pgsql:host=127.0.0.1;dbname=weft;user=weft;sslmode=$sslmode;port=" . getenv('POSTGRES_PORT'), options: $options);
}

/** A connection string for ext-pgsql. Equal strings would share a connection without FORCE_NEW. */
function dsn(string $host = '127.0.0.1'): string
{
    return "host=$host dbname=weft user=weft sslmode=disable port=" . getenv('POSTGRES_PORT');
}

function connect(string $more = ''): PgSql\Connection
{
    return pg_connect(dsn() . " $more", PGSQL_CONNECT_FORCE_NEW);
}
