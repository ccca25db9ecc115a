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

/// How those of a crowd end who do not ask; a fatal error would replace the worker.
const WAYS_OF_A_CROWD: [&str; 5] = ["/timeout", "/task", "/exit", "/throw", "/slow"];
/// How many of them there are at once, and how often.
const CROWD: usize = 40;
const ROUNDS: usize = 4;

/// How often who did not get his answer in time on a busy machine asks again.
const PATIENT: usize = 20;

/// In one worker of coroutine mode, all ways at once, among them clients who go away: everybody gets his own answer, and the worker
/// stays.
pub fn in_a_crowd(path: &Path, servers: &Servers) {
    let weft = server(path, servers, "20000").start();
    ask(&weft, "nobody was before");
    let workers = weft.workers();
    for round in 0..ROUNDS {
        let mut clients: Vec<_> = (0..CROWD).map(|_| weft.connect()).collect();
        for (n, client) in clients.iter_mut().enumerate() {
            let text = format!("round {round} of {n}");
            match (n + round) % 2 {
                0 => client.get(&target(&text)),
                _ => client.get(WAYS_OF_A_CROWD[(n + round) / 2 % WAYS_OF_A_CROWD.len()]),
            }
        }
        for (n, mut client) in clients.into_iter().enumerate() {
            let way = WAYS_OF_A_CROWD[(n + round) / 2 % WAYS_OF_A_CROWD.len()];
            match ((n + round) % 2, way) {
                (0, _) => expect(&weft, &format!("round {round} of {n}"), &client.read()),
                (_, "/slow") => drop(client),
                (_, way) => {
                    let status = if way == "/throw" { 500 } else { 200 };
                    let response = client.read();
                    assert_eq!(response.status, status, "{way}: {} {}", response.text(), weft.log());
                }
            }
        }
    }
    all_at_once(&weft, "after the crowd");
    assert_eq!(weft.workers(), workers, "{}", weft.log());
}

/// In one worker of coroutine mode.
pub fn in_coroutines(path: &Path, servers: &Servers) {
    let weft = server(path, servers, REQUEST_TIMEOUT_MS).start();
    everybody_gets_his_own_answer(&weft, &IN_COROUTINES);
}

/// In one instance, which uses the connection for every request that it gets.
pub fn in_instances(path: &Path, servers: &Servers) {
    let weft = server(path, servers, REQUEST_TIMEOUT_MS)
        .with("--run-as", "resident")
        .with("--instances", "1")
        .start();
    everybody_gets_his_own_answer(&weft, &IN_INSTANCES);
}

fn server(path: &Path, servers: &Servers, timeout_ms: &str) -> Server {
    let kind = path.parent().and_then(Path::file_name).expect("it is in a directory").to_string_lossy();
    let environment: Environment = servers.environment(&kind);
    let app = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients/support/cut.php");
    let mut server = Server::new(&format!("return require '{}';", app.display()))
        .with("--request-timeout-ms", timeout_ms)
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
    answered(weft, text, weft.get(&target(text)));
}

/// Expects an answer; who had to wait for longer than the time of `slow` asks again.
fn answered(weft: &Running, text: &str, first: Response) {
    let mut response = first;
    for _ in 0..PATIENT {
        if response.status != 504 {
            break;
        }
        response = weft.get(&target(text));
    }
    expect(weft, text, &response);
}

fn all_at_once(weft: &Running, text: &str) {
    let mut clients: Vec<_> = (0..4).map(|_| weft.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.get(&target(&format!("{text} at once {n}")));
    }
    for (n, client) in clients.iter_mut().enumerate() {
        answered(weft, &format!("{text} at once {n}"), client.read());
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
