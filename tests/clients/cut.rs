//! A conversation with a server is cut short, and PHP keeps the connection: the next request must get its own answer.
//!
//! Each `tests/clients/cut/*/*.php` returns functions: `open` opens a persistent connection, `ask` sends a text over it
//! and returns the answer, `slow` waits and, where possible, `half` stops in the middle of an answer. Must not know any
//! client.

use std::path::Path;

use weft_tests::{Response, Running, Server};

use crate::servers::{Environment, Servers};

/// How a conversation is cut short in coroutine mode, and the status of the response.
const IN_COROUTINES: [(&str, u16); 6] =
    [("/timeout", 200), ("/task", 200), ("/slow", 504), ("/exit", 200), ("/throw", 500), ("/fatal", 500)];

/// The same where each request has PHP to itself.
const IN_INSTANCES: [(&str, u16); 5] =
    [("/timeout", 200), ("/slow", 504), ("/exit", 200), ("/throw", 500), ("/fatal", 500)];

/// Longer than a question takes on a busy machine, shorter than the wait of `slow`.
const REQUEST_TIMEOUT_MS: &str = "1500";

/// In one worker of coroutine mode.
pub fn in_coroutines(path: &Path, servers: &Servers) {
    let weft = server(path, servers).start();
    everybody_gets_his_own_answer(&weft, &IN_COROUTINES);
}

/// In one instance, which uses the connection for every request that it gets.
pub fn in_instances(path: &Path, servers: &Servers) {
    let weft = server(path, servers).with("--run-as", "resident").with("--instances", "1").start();
    everybody_gets_his_own_answer(&weft, &IN_INSTANCES);
}

fn server(path: &Path, servers: &Servers) -> Server {
    let kind = path.parent().and_then(Path::file_name).expect("it is in a directory").to_string_lossy();
    let environment: Environment = servers.environment(&kind);
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/support/cut.php");
    let mut server = Server::new(&format!("return require '{}';", app.display()))
        .with("--request-timeout-ms", REQUEST_TIMEOUT_MS)
        .with_variable("CLIENT_SCRIPT", &path.display().to_string());
    for (name, value) in environment {
        server = server.with_variable(&name, &value);
    }
    server
}

fn everybody_gets_his_own_answer(weft: &Running, ways: &[(&str, u16)]) {
    ask(weft, "nobody was before");
    for (way, status) in ways {
        let response = weft.get(way);
        let said = format!("{way}: {} {}: {}", response.status, response.text(), weft.log());
        // It is not the client's failure if the server has answered before the time was up.
        assert!(response.status == *status || (*way, response.status) == ("/slow", 200), "{said}");
        if *status == 200 {
            assert_eq!(response.text(), "cut", "{said}");
        }
        for n in 0..3 {
            ask(weft, &format!("{} {n}", &way[1..]));
        }
        all_at_once(weft, &way[1..]);
    }
    drop_one(weft);
    ask(weft, "gone");
}

fn target(text: &str) -> String {
    format!("/ask?text={}", text.replace(' ', "+"))
}

fn expect(weft: &Running, text: &str, response: &Response) {
    assert_eq!((response.status, response.text().as_str()), (200, text), "{}", weft.log());
}

fn ask(weft: &Running, text: &str) {
    expect(weft, text, &weft.get(&target(text)));
}

fn all_at_once(weft: &Running, text: &str) {
    let mut clients: Vec<_> = (0..4).map(|_| weft.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.get(&target(&format!("{text} at once {n}")));
    }
    for (n, client) in clients.iter_mut().enumerate() {
        expect(weft, &format!("{text} at once {n}"), &client.read());
    }
}

/// A client that goes away in the middle of its query.
fn drop_one(weft: &Running) {
    let mut client = weft.connect();
    client.get("/slow");
    // The query is running once a request sent after it has been answered.
    ask(weft, "behind it");
    drop(client);
}
