//! Two coroutines use one connection at the same moment: an exception names both places, and the first call is
//! unharmed.

use std::time::Duration;

use weft_tests::services::MongoDb;
use weft_tests::{Running, Server, services, until};

/// Waits until the first request is in its call, lets `weft` answer the second, then lets the first continue.
fn second_while_first_waits(weft: &Running, second: &str) -> (String, String) {
    let mut first = weft.connect();
    first.send("GET /first HTTP/1.1\r\nHost: a\r\n\r\n");
    until("the first to wait", || (weft.get("/state").text() == "waiting").then_some(()));
    let refused = weft.get(second).text();
    weft.get("/release");
    (first.read().text(), refused)
}

fn lines(app: &str, needle: &str) -> usize {
    1 + app.lines().position(|line| line.contains(needle)).expect("a line of the application")
}

const SQLITE: &str = r#"
final class Shared { public static PDO $pdo; public static PDO $lock; public static string $state = ''; }
final class Database extends PDO {}
$open = fn () => new Database('sqlite:' . __DIR__ . '/guard.db', null, null, [PDO::ATTR_TIMEOUT => 60]);
Shared::$pdo = $open();
Shared::$lock = $open();
Shared::$pdo->exec('CREATE TABLE t (n INT)');
return function ($r) {
    try {
        switch ($r->path()) {
            case '/lock':
                Shared::$lock->exec('BEGIN EXCLUSIVE');
                return 'locked';
            case '/release':
                Shared::$lock->exec('COMMIT');
                return 'released';
            case '/state':
                return Shared::$state;
            case '/first':
                Shared::$state = 'waiting';
                Shared::$pdo->exec('INSERT INTO t VALUES (1)'); // the first
                Shared::$state = '';
                return 'inserted';
            case '/query':
                return json_encode(Shared::$pdo->query('SELECT n FROM t')->fetchAll()); // the second
            case '/quote':
                return Shared::$pdo->quote('a');
            default:
                static $statement;
                $statement ??= Shared::$pdo->prepare('SELECT count(*) FROM t');
                $statement->execute(); // the third
                return (string) $statement->fetchAll(PDO::FETCH_COLUMN)[0];
        }
    } catch (Error $error) {
        return get_class($error) . ': ' . $error->getMessage();
    }
};"#;

#[test]
fn pdo_names_both_places() {
    let weft = Server::new(SQLITE).start();
    assert_eq!(weft.get("/count").text(), "0");
    for (second, place, function) in
        [("/query", "// the second", "PDO::query"), ("/count", "// the third", "PDOStatement::execute")]
    {
        weft.get("/lock");
        let (first, refused) = second_while_first_waits(&weft, second);
        assert_eq!(first, "inserted", "the first call was disturbed");
        let (start, rest) = refused.split_once(", since ").unwrap_or_else(|| panic!("{second}: {refused}"));
        let at = format!("app.php:{} (PDO::exec", lines(&format!("<?php\n{SQLITE}"), "// the first"));
        assert!(
            start.starts_with("Weft\\ConcurrentUseError: This PDO connection is in use by another coroutine, which waits at "),
            "{refused}"
        );
        assert!(start.ends_with(&at), "{refused}");
        let at = format!("app.php:{} ({function})", lines(&format!("<?php\n{SQLITE}"), place));
        assert!(rest.contains(" ms); used again at ") && rest.contains(&at), "{refused}");
        assert!(rest.ends_with("use a pool (Weft\\Pool)."), "{refused}");
    }
    weft.get("/lock");
    assert_eq!(second_while_first_waits(&weft, "/quote").1, "'a'", "what never waits is not refused");
    assert_eq!(weft.get("/count").text(), "3", "the connection is as good as before");
}

/// A fatal error or an exit within a call leaves nothing behind.
#[test]
fn a_call_that_ends_in_a_bailout_frees_its_connection() {
    let app = r#"
        final class Shared { public static PDO $pdo; }
        Shared::$pdo = new PDO('sqlite::memory:');
        Shared::$pdo->sqliteCreateFunction('leave', function (string $how): string {
            if ($how === 'fatal') {
                trigger_error('enough', E_USER_ERROR);
            }
            exit('left');
        });
        return function ($r) {
            $how = $r->query('how');
            return Shared::$pdo->query($how ? "SELECT leave('$how')" : 'SELECT 5')->fetchColumn();
        };"#;
    let weft = Server::new(app).start();
    assert_eq!(weft.get("/?how=exit").text(), "left");
    assert_eq!(weft.get("/").text(), "5");
    assert_eq!(weft.get("/?how=fatal").status, 500);
    assert_eq!(weft.get("/").text(), "5");
}

/// The server of this connection is the application itself: it accepts and never answers.
#[test]
fn redis_names_both_places() {
    let app = r#"
        final class Shared { public static Redis $redis; public static $server; public static $peer; public static string $state = ''; }
        Shared::$server = stream_socket_server('tcp://127.0.0.1:0');
        [$host, $port] = explode(':', stream_socket_get_name(Shared::$server, false));
        Shared::$redis = new Redis();
        Shared::$redis->connect($host, (int) $port, 30);
        Shared::$peer = stream_socket_accept(Shared::$server, 5);
        return function ($r) {
            try {
                switch ($r->path()) {
                    case '/state':
                        return Shared::$state;
                    case '/first':
                        Shared::$state = 'waiting';
                        return Shared::$redis->get('a');
                    case '/release':
                        fwrite(Shared::$peer, "\$1\r\nb\r\n");
                        return '';
                    default:
                        return (string) Shared::$redis->incr('n');
                }
            } catch (Weft\ConcurrentUseError $error) {
                return $error->getMessage();
            }
        };"#;
    let weft = Server::new(app).start();
    let (first, refused) = second_while_first_waits(&weft, "/second");
    assert_eq!(first, "b");
    assert!(refused.starts_with("This Redis connection is in use by another coroutine"), "{refused}");
    assert!(refused.contains("(Redis::get, since ") && refused.contains("(Redis::incr)"), "{refused}");
}

#[test]
fn a_mongodb_manager_that_requests_share_is_guarded() {
    let server = MongoDb::start();
    let app = r#"use MongoDB\Driver\{Command, Manager};
        final class Shared { public static ?Manager $manager = null; public static string $state = ''; }
        function ask(int $milliseconds): string {
            Shared::$manager ??= new Manager(getenv('MONGODB'));
            $command = new Command(['echo' => 1, 'n' => 7, 'milliseconds' => $milliseconds]);
            return (string) Shared::$manager->executeCommand('weft', $command)->toArray()[0]->n;
        }
        return function ($r) {
            try {
                Shared::$state = $r->path() === '/first' ? 'waiting' : Shared::$state;
                return $r->path() === '/state' ? Shared::$state : ask($r->path() === '/first' ? 3000 : 1);
            } catch (Error $error) {
                return get_class($error) . ': ' . $error->getMessage();
            }
        };"#;
    let weft =
        Server::new(app).with_variable("MONGODB", &format!("mongodb://127.0.0.1:{}", server.port)).start();
    let (first, second) = second_while_first_waits(&weft, "/second");
    assert_eq!(first, "7");
    assert!(second.starts_with("Weft\\ConcurrentUseError: This MongoDB connection is in use"), "{second}");
    assert_eq!(weft.get("/third").text(), "7");
}

/// Runs the clients of this path: each message must name the client's kind and both places.
fn clients_name_both_places(weft: &Running, path: &str, clients: &[(&str, &str, &str, &str)]) {
    let response = weft.get(path);
    assert_eq!(response.status, 200, "{}", response.text());
    let said = response.json();
    for (client, kind, first, second) in clients {
        let text = said[*client].as_str().unwrap_or_else(|| panic!("{client}: {said}"));
        assert!(text.starts_with(&format!("This {kind} connection is in use")), "{client}: {text}");
        assert!(text.contains(&format!(" ({first}, since ")), "{client}: {text}");
        assert!(text.contains(&format!(" ({second})")), "{client}: {text}");
    }
}

fn clients_app() -> Server {
    Server::new(include_str!("guard_clients.php").trim_start_matches("<?php"))
}

/// With the protocols of real servers: the first call completes, and the connection stays usable.
#[test]
fn database_clients_name_both_places_and_go_on() {
    let mariadb = services::MariaDb::start();
    let postgres = services::Postgres::start();
    let weft = clients_app()
        .with_variable("MARIADB_PORT", &mariadb.port.to_string())
        .with_variable("POSTGRES_PORT", &postgres.port.to_string())
        .start();
    let clients = [
        ("PDO mysql", "PDO", "PDO::query", "PDO::query"),
        ("PDO mysql statement", "PDO", "PDOStatement::execute", "PDO::prepare"),
        ("mysqli", "mysqli", "mysqli::query", "mysqli::query"),
        ("mysqli functions", "mysqli", "mysqli_query", "mysqli_query"),
        ("mysqli statement", "mysqli", "mysqli::execute_query", "mysqli::prepare"),
        ("PDO pgsql", "PDO", "PDO::query", "PDO::query"),
        ("pgsql", "pgsql", "pg_query", "pg_query_params"),
        ("odbc", "ODBC", "odbc_exec", "odbc_exec"),
        ("odbc statement", "ODBC", "odbc_execute", "odbc_exec"),
    ];
    clients_name_both_places(&weft, "/databases", &clients);
}

#[test]
fn clients_of_brokers_directories_and_files_name_both_places_and_go_on() {
    let rabbitmq = services::RabbitMq::start();
    let (openldap, memcached) = (services::OpenLdap::start(), services::Memcached::start());
    let slow = Duration::from_millis(250);
    let (ldap, cache) =
        (services::Delay::before(openldap.port, slow), services::Delay::before(memcached.port, slow));
    let upstream = services::Upstream::start();
    let weft = clients_app()
        .with_variable("RABBITMQ_PORT", &rabbitmq.port.to_string())
        .with_variable("LDAP_SLOW_PORT", &ldap.port.to_string())
        .with_variable("MEMCACHED_SLOW_PORT", &cache.port.to_string())
        .with_variable("FTP_PORT", &upstream.ftp.to_string())
        .start();
    let clients = [
        ("AMQP", "AMQP", "AMQPQueue::consume", "AMQPChannel::__construct"),
        ("LDAP", "LDAP", "ldap_read", "ldap_exop_whoami"),
        ("FTP", "FTP", "ftp_fget", "ftp_pwd"),
        ("Memcached", "Memcached", "Memcached::get", "Memcached::set"),
    ];
    clients_name_both_places(&weft, "/services", &clients);
}
