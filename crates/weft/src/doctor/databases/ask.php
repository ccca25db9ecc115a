<?php

/**
 * What `weft doctor --database` asks a server, by PHP's own clients: whom to ask comes as JSON on stdin, one line of JSON is the
 * answer.
 *
 * Must not know what the answer means. Invariant: it reads settings and counters, and changes nothing.
 */

/** @return array<string, scalar|null> */
function weft_ask_mysql(object $asked): array
{
    // PDO encrypts only if one of these options is given. On this machine nobody is in between.
    $tls = [PDO::MYSQL_ATTR_SSL_CIPHER => 'DEFAULT', PDO::MYSQL_ATTR_SSL_VERIFY_SERVER_CERT => !$asked->local];
    $host = str_contains($asked->host, ':') ? "[$asked->host]" : $asked->host;
    $dsn = $asked->port ? "mysql:host=$host;port=$asked->port" : "mysql:unix_socket=$asked->host";
    $pdo = new PDO($dsn, $asked->user, $asked->password, [PDO::ATTR_TIMEOUT => $asked->seconds] + ($asked->tls ? $tls : []));
    $names = "'max_connections', 'max_user_connections', 'wait_timeout', 'thread_cache_size', 'thread_handling', 'Threads_connected', "
        . "'Threads_created', 'Connections', 'Connection_errors_max_connections'";
    $values = [];
    foreach (['GLOBAL VARIABLES', 'GLOBAL STATUS'] as $table) {
        $values += $pdo->query("SHOW $table WHERE Variable_name IN ($names)")->fetchAll(PDO::FETCH_KEY_PAIR);
    }

    return $values + $pdo->query("SHOW SESSION STATUS LIKE 'Ssl_cipher'")->fetchAll(PDO::FETCH_KEY_PAIR);
}

/** @return array<string, scalar|null> */
function weft_ask_pgsql(object $asked): array
{
    $database = addcslashes($asked->database ?: 'postgres', "'\\");
    $dsn = "pgsql:host='" . addcslashes($asked->host, "'\\") . "';port=$asked->port;dbname='$database';connect_timeout=$asked->seconds";
    $pdo = new PDO($dsn, $asked->user ?: null, $asked->password ?: null, [PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    $names = "'max_connections', 'superuser_reserved_connections', 'reserved_connections', 'idle_session_timeout'";
    $values = $pdo->query("SELECT name, setting FROM pg_settings WHERE name IN ($names)")->fetchAll(PDO::FETCH_KEY_PAIR);
    $own = $pdo->query(
        "SELECT (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
                (SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()) AS ssl,
                (SELECT rolconnlimit FROM pg_roles WHERE rolname = current_user) AS user_limit,
                (SELECT datconnlimit FROM pg_database WHERE datname = current_database()) AS database_limit",
    );

    return $values + $own->fetch(PDO::FETCH_ASSOC);
}

/** @return array<string, scalar|null> */
function weft_ask_redis(object $asked): array
{
    $redis = new Redis();
    $context = $asked->tls && $asked->local ? ['stream' => ['verify_peer' => false, 'verify_peer_name' => false]] : [];
    $redis->connect(($asked->tls ? 'tls://' : '') . $asked->host, $asked->port, $asked->seconds, null, 0, $asked->seconds, $context);
    if ($asked->password !== '') {
        $redis->auth($asked->user === '' ? $asked->password : [$asked->user, $asked->password]);
    }
    $info = $redis->info('clients') + $redis->info('stats');
    $values = array_intersect_key($info, array_flip(['connected_clients', 'maxclients', 'rejected_connections', 'latest_fork_usec']));
    foreach (['maxclients', 'timeout', 'tcp-backlog', 'appendonly', 'appendfsync'] as $name) {
        try {
            $values = (array) $redis->config('GET', $name) + $values;
        } catch (RedisException) {
            break; // a server of somebody else's, who does not tell
        }
    }

    return array_filter($values, is_string(...), ARRAY_FILTER_USE_KEY) + weft_redis_waits($redis);
}

/**
 * How long commands have taken: there and back at best, those that the server has listed in a day, by name only, and what it has
 * watched itself.
 *
 * @return array<string, scalar>
 */
function weft_redis_waits(Redis $redis): array
{
    $trips = [];
    for ($ping = 0; $ping < 20; $ping++) {
        $from = hrtime(true);
        $redis->ping();
        $trips[] = intdiv(hrtime(true) - $from, 1_000);
    }
    $values = ['ping_us' => min($trips)];
    try {
        $since = (int) ($redis->time()[0] ?? 0) - 86_400;
        // Each has a number, a time, microseconds, and the command with its arguments.
        $slow = array_filter((array) $redis->slowlog('get', 128), static fn ($one) => is_array($one) && $one[1] > $since && $one[2] >= 10_000);
        array_multisort(array_column($slow, 2), SORT_DESC, $slow);
        if ($slow !== []) {
            $values += ['slow_count' => count($slow), 'slow_us' => $slow[0][2], 'slow_command' => strtoupper((string) $slow[0][3][0])];
        }
        // Each has a name, the time of the last one, and how many milliseconds the last and the longest took.
        $watched = array_filter((array) $redis->rawCommand('LATENCY', 'LATEST'), static fn ($one) => is_array($one) && $one[1] > $since);
        array_multisort(array_column($watched, 3), SORT_DESC, $watched);
        if ($watched !== []) {
            $values += ['event' => $watched[0][0], 'event_ms' => $watched[0][3]];
        }
    } catch (RedisException) {
        // a server of somebody else's, who does not tell
    }

    return $values;
}

$asked = json_decode((string) file_get_contents('php://stdin'));
$extension = $asked->kind === 'redis' ? 'redis' : "pdo_$asked->kind";
try {
    $answer = extension_loaded($extension)
        ? ['values' => ('weft_ask_' . $asked->kind)($asked)]
        : ['extension' => $extension];
} catch (Throwable $error) {
    $answer = ['error' => $error->getMessage() ?: $error::class];
}
echo "\n", json_encode($answer, JSON_INVALID_UTF8_SUBSTITUTE), "\n";
