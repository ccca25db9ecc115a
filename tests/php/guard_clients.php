<?php
/*
 * For each client: one connection, a slow call on it by a task, and meanwhile a call by the request itself. A client
 * is three functions: the first opens the connection, the second prepares the slow call and returns it, the third uses
 * the connection for something else.
 */

use Weft\Coroutine;
use Weft\Http\Request;

use function Weft\go;

$mysql = fn () => new PDO(
    'mysql:host=127.0.0.1;dbname=weft;port=' . getenv('MARIADB_PORT'),
    'root',
    '',
    [PDO::ATTR_EMULATE_PREPARES => false],
);
$mysqli = fn () => new mysqli('127.0.0.1', 'root', '', 'weft', (int) getenv('MARIADB_PORT'));
$postgres = 'host=127.0.0.1 dbname=weft user=weft port=' . getenv('POSTGRES_PORT');
$slow = 'SELECT SLEEP(0.3)';
$slowPostgres = 'SELECT pg_sleep(0.3)';

$databases = [
    'PDO mysql' => [$mysql, fn ($c) => fn () => $c->query($slow)->fetchAll(), fn ($c) => $c->query('SELECT 1')->fetchAll()],
    'PDO mysql statement' => [
        $mysql,
        function ($c) use ($slow) {
            $statement = $c->prepare($slow);

            return fn () => $statement->execute() && $statement->fetchAll();
        },
        fn ($c) => $c->prepare('SELECT 1')->execute(),
    ],
    'mysqli' => [$mysqli, fn ($c) => fn () => $c->query($slow), fn ($c) => $c->query('SELECT 1')],
    'mysqli functions' => [$mysqli, fn ($c) => fn () => mysqli_query($c, $slow), fn ($c) => mysqli_query($c, 'SELECT 1')],
    'mysqli statement' => [
        $mysqli,
        fn ($c) => fn () => $c->execute_query($slow),
        fn ($c) => $c->prepare('SELECT 1')->execute(),
    ],
    'PDO pgsql' => [
        fn () => new PDO('pgsql:' . strtr($postgres, ' ', ';')),
        fn ($c) => fn () => $c->query($slowPostgres)->fetchAll(),
        fn ($c) => $c->query('SELECT 1')->fetchAll(),
    ],
    'odbc' => [
        fn () => odbc_connect(
            'Driver=/usr/lib/x86_64-linux-gnu/odbc/libmaodbc.so;Server=127.0.0.1;Database=weft;Port=' . getenv('MARIADB_PORT'),
            'root',
            '',
        ),
        fn ($c) => fn () => odbc_exec($c, $slow),
        fn ($c) => odbc_fetch_array(odbc_exec($c, 'SELECT 1 AS one'))['one'] == 1 ?: throw new Exception('not its answer'),
    ],
    'odbc statement' => [
        fn () => odbc_connect(
            'Driver=/usr/lib/x86_64-linux-gnu/odbc/libmaodbc.so;Server=127.0.0.1;Database=weft;Port=' . getenv('MARIADB_PORT'),
            'root',
            '',
        ),
        function ($c) use ($slow) {
            $statement = odbc_prepare($c, $slow);

            return fn () => odbc_execute($statement);
        },
        fn ($c) => odbc_exec($c, 'SELECT 1'),
    ],
    'pgsql' => [
        fn () => pg_connect($postgres),
        fn ($c) => fn () => pg_query($c, $slowPostgres),
        fn ($c) => pg_query_params($c, 'SELECT $1::int', [1]),
    ],
];

$queue = function (AMQPConnection $connection): AMQPQueue {
    $queue = new AMQPQueue(new AMQPChannel($connection));
    $queue->setFlags(AMQP_EXCLUSIVE);
    $queue->declareQueue();

    return $queue;
};

$services = [
    'AMQP' => [
        function () {
            $connection = new AMQPConnection(
                ['host' => '127.0.0.1', 'port' => (int) getenv('RABBITMQ_PORT'), 'read_timeout' => 0.3],
            );
            $connection->connect();

            return $connection;
        },
        function ($c) use ($queue) {
            $empty = $queue($c);

            return function () use ($empty) {
                try {
                    $empty->consume(fn () => false);
                } catch (AMQPQueueException) { // the queue stayed empty
                }
            };
        },
        fn ($c) => new AMQPChannel($c),
    ],
    'LDAP' => [
        function () {
            $link = ldap_connect('ldap://127.0.0.1:' . getenv('LDAP_SLOW_PORT'));
            ldap_set_option($link, LDAP_OPT_PROTOCOL_VERSION, 3);
            ldap_bind($link, 'cn=admin,dc=weft,dc=test', 'secret');

            return $link;
        },
        fn ($c) => fn () => ldap_read($c, '', '(objectClass=*)', ['namingContexts']),
        fn ($c) => ldap_exop_whoami($c) === 'dn:cn=admin,dc=weft,dc=test' ?: throw new Exception(ldap_error($c)),
    ],
    'FTP' => [
        function () {
            $ftp = ftp_connect('127.0.0.1', (int) getenv('FTP_PORT'), 20);
            ftp_login($ftp, 'user', 'password');
            ftp_pasv($ftp, true);

            return $ftp;
        },
        fn ($c) => fn () => ftp_fget($c, fopen('php://memory', 'w'), '300-file'),
        fn ($c) => ftp_pwd($c) === '/' ?: throw new Exception('not its answer'),
    ],
    'Memcached' => [
        function () {
            $memcached = new Memcached();
            $memcached->addServer('127.0.0.1', (int) getenv('MEMCACHED_SLOW_PORT'));

            return $memcached;
        },
        fn ($c) => fn () => $c->get('key'),
        fn ($c) => $c->set('key', 'value') ?: throw new Exception($c->getResultMessage()),
    ],
];

return function (Request $request) use ($databases, $services): string {
    $said = [];
    foreach ($request->path() === '/services' ? $services : $databases as $name => [$open, $prepare, $use]) {
        $connection = $open();
        $use($connection);
        $call = $prepare($connection);
        $begun = false;
        $task = go(function () use ($call, &$begun) {
            $begun = true;
            $call();
        });
        while (!$begun) {
            Coroutine::yield();
        }
        try {
            $use($connection);
            $said[$name] = 'was let through';
        } catch (Weft\ConcurrentUseError $error) {
            $said[$name] = $error->getMessage();
        }
        $task->await(20);
        $use($connection);
    }

    return json_encode($said);
};
