<?php

declare(strict_types=1);

/** @param array<int, mixed> $options */
function pdo(array $options = [], string $more = ''): PDO
{
    return new PDO('pgsql:host=127.0.0.1;dbname=weft;user=weft;port=' . getenv('POSTGRES_PORT') . $more, options: $options);
}

/** A connection string of ext-pgsql. Equal ones would share a connection without FORCE_NEW. */
function dsn(string $host = '127.0.0.1'): string
{
    return "host=$host dbname=weft user=weft port=" . getenv('POSTGRES_PORT');
}

function connect(string $more = ''): PgSql\Connection
{
    return pg_connect(dsn() . " $more", PGSQL_CONNECT_FORCE_NEW);
}
