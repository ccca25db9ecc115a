//! Persistent connections: each coroutine has its own, idle ones are reused, and a coroutine gets its own
//! connection again.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use weft_tests::Server;

use crate::interleaved::{AT_ONCE, MEET, at_once};

fn request(n: usize) -> String {
    format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n")
}

/// An in-memory database lives in its connection, so it shows which request has which connection.
#[test]
fn each_coroutine_has_its_own_persistent_connection() {
    let app = r#"function open(): PDO {
            return new PDO('sqlite::memory:', null, null, [PDO::ATTR_PERSISTENT => true]);
        }
        return function ($r) {
            $pdo = open();
            $earlier = $pdo->query('PRAGMA user_version')->fetchColumn();
            $pdo->exec('PRAGMA user_version = ' . (1 + (int) $r->query('n')));
            meet((int) $r->query('n'));
            $again = open()->query('PRAGMA user_version')->fetchColumn();
            return json_encode([$earlier, $pdo->query('PRAGMA user_version')->fetchColumn(), $again]);
        };"#;
    let weft = Server::new(&format!("{MEET}{app}")).start();
    let opened = Cell::new(0);
    at_once(&weft, request, |n, response| {
        let said = response.json();
        assert_eq!(said[1], n + 1, "{n}: another request had its connection: {said}");
        assert_eq!(said[2], n + 1, "{n}: opening it again gave another connection: {said}");
        opened.set(opened.get() + usize::from(said[0] == 0));
    });
    assert_eq!(opened.get(), AT_ONCE, "connections were opened, all others used again");
}

#[test]
fn a_persistent_connection_that_is_kept_is_not_given_away() {
    let app = r#"final class Kept { public static ?PDO $pdo = null; }
        return function ($r) {
            $pdo = new PDO('sqlite::memory:', null, null, [PDO::ATTR_PERSISTENT => true]);
            $earlier = $pdo->query('PRAGMA user_version')->fetchColumn();
            $pdo->exec('PRAGMA user_version = 7');
            if ($r->query('keep')) {
                Kept::$pdo = $pdo;
            }
            if ($r->query('drop')) {
                Kept::$pdo = null;
            }
            return json_encode($earlier);
        };"#;
    let weft = Server::new(app).start();
    assert_eq!(weft.get("/?keep=1").json(), 0);
    assert_eq!(weft.get("/").json(), 0, "the one that a static keeps was given to another request");
    assert_eq!(weft.get("/?drop=1").json(), 7, "an idle one was not used again");
    assert_eq!(weft.get("/").json(), 7);
}

/// As under php-fpm, where no other request asks in between. Every other request releases its connection after some
/// have ended, so idle connections lie before and after its own.
#[test]
fn a_request_that_released_a_persistent_connection_gets_it_again() {
    let app = r#"function open(): PDO {
            return new PDO('sqlite::memory:', null, null, [PDO::ATTR_PERSISTENT => true]);
        }
        return function ($r) {
            $n = (int) $r->query('n');
            open()->exec('PRAGMA user_version = ' . (1 + $n));
            $again = open();
            $first = $again->query('PRAGMA user_version')->fetchColumn();
            meet($n);
            if ($n % 2) {
                unset($again);
                return json_encode([$first, open()->query('PRAGMA user_version')->fetchColumn()]);
            }
            return json_encode([$first, $again->query('PRAGMA user_version')->fetchColumn()]);
        };"#;
    let weft = Server::new(&format!("{MEET}{app}")).start();
    at_once(&weft, request, |n, response| {
        let said = response.json();
        assert_eq!(said[0], n + 1, "{n}: another's connection at once: {said}");
        assert_eq!(said[1], n + 1, "{n}: another's connection later: {said}");
    });
}

#[test]
fn persistent_sockets_belong_to_one_coroutine_and_survive_being_closed() {
    let app = r#"$context = stream_context_create(['socket' => ['backlog' => 256]]);
        $flags = STREAM_SERVER_BIND | STREAM_SERVER_LISTEN;
        $server = stream_socket_server('tcp://127.0.0.1:0', $e, $m, $flags, $context);
        $port = (int) substr(strrchr(stream_socket_get_name($server, false), ':'), 1);
        return function ($r) use ($port, $server) {
            $open = fn () => $r->query('client')
                ? stream_socket_client("tcp://127.0.0.1:$port", $e, $m, 5, STREAM_CLIENT_CONNECT | STREAM_CLIENT_PERSISTENT)
                : pfsockopen('127.0.0.1', $port);
            $one = $open();
            $name = stream_socket_get_name($one, false);
            if ($r->query('n') !== null) {
                meet((int) $r->query('n'));
            }
            $same = stream_socket_get_name($open(), false) === $name;
            if ($r->query('close')) {
                fclose($one);
            }
            return json_encode([$name, $same]);
        };"#;
    for kind in ["", "&client=1"] {
        let weft = Server::new(&format!("{MEET}{app}")).start();
        let names = RefCell::new(Vec::new());
        at_once(
            &weft,
            |n| format!("GET /?n={n}{kind} HTTP/1.1\r\nHost: a\r\n\r\n"),
            |n, response| {
                let said = response.json();
                assert_eq!(said[1], true, "{n}: {said}");
                names.borrow_mut().push(said[0].to_string());
            },
        );
        let names = names.into_inner();
        let first: HashSet<_> = names[..AT_ONCE].iter().collect();
        let all: HashSet<_> = names.iter().collect();
        assert_eq!(first.len(), AT_ONCE, "two of one round had the same socket");
        assert_eq!(all.len(), AT_ONCE, "idle ones were not used again");
        let closed = weft.get(&format!("/?close=1{kind}")).json()[0].to_string();
        let next = weft.get(&format!("/?{kind}")).json()[0].to_string();
        assert!(closed != next, "a closed socket was used again");
    }
}
