//! Users of a service and the confirmations they got: every confirmed operation must be in the database, once.
//!
//! Invariant: an operation is recorded if and only if its confirmation was read completely.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use serde_json::{Value, json};
use weft_tests::command::finish;
use weft_tests::{Client, Running, until};

/// Kinds of operations, as the database encodes them.
const RETURNED: u8 = 1;
const SHOWN: u8 = 2;
const CLICKED: u8 = 3;

/// Users that send requests and reports until they are stopped.
pub struct Load {
    stop: Arc<AtomicBool>,
    confirmed: Arc<AtomicUsize>,
    threads: Vec<JoinHandle<BTreeSet<String>>>,
}

impl Load {
    /// Starts this many connections; each uses a user once. `name` keeps loads apart.
    pub fn start(weft: &Running, name: &str, connections: usize) -> Load {
        let (stop, confirmed) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
        let threads = (0..connections).map(|connection| {
            let (stop, confirmed, address) = (Arc::clone(&stop), Arc::clone(&confirmed), weft.address);
            let name = format!("{name}-{connection}");
            std::thread::spawn(move || {
                let mut ids = BTreeSet::new();
                let mut client = None;
                for number in 0.. {
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                    let user = format!("{name}-{number}");
                    // A failed connection is replaced; until then no operation can be confirmed.
                    client = match client.take() {
                        Some(open) => Some(open),
                        None => Client::try_connect(address).ok(),
                    };
                    let done = client.as_mut().and_then(|client| visit(client, &user, &mut ids));
                    if done.is_none() {
                        client = None;
                        std::thread::yield_now();
                    }
                    confirmed.fetch_add(done.unwrap_or(0), Ordering::Relaxed);
                }
                ids
            })
        });
        let threads = threads.collect();
        Load { stop, confirmed, threads }
    }

    /// Waits until this many more operations have been confirmed.
    pub fn wait_for(&self, more: usize) {
        let goal = self.confirmed.load(Ordering::Relaxed) + more;
        until("operations to be confirmed", || {
            (self.confirmed.load(Ordering::Relaxed) >= goal).then_some(())
        });
    }

    /// Ends the load; returns the ids of all confirmed operations.
    pub fn end(self) -> BTreeSet<String> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().flat_map(|thread| thread.join().expect("a user does not panic")).collect()
    }
}

/// One user's visit: asks, is shown, clicks. Returns the number of confirmed operations, or `None` if the
/// connection failed.
fn visit(client: &mut Client, user: &str, ids: &mut BTreeSet<String>) -> Option<usize> {
    let answer = call(client, "/v1/ask", &json!({"user": user, "platform": "ios"}))?;
    let popup = &answer["popup"];
    let Some(display) = popup["display"].as_str() else { return Some(0) };
    let name = display.split('~').next().unwrap_or_default();
    ids.insert(format!("{name}-{RETURNED}"));
    let mut count = 1;
    for (operation, kind) in [("shown", SHOWN), ("clicked", CLICKED)] {
        let body = json!({"display": display, "operation": operation});
        if call(client, "/v1/operations", &body)?["recorded"] == true {
            ids.insert(format!("{name}-{kind}"));
            count += 1;
        }
    }
    Some(count)
}

fn call(client: &mut Client, target: &str, body: &Value) -> Option<Value> {
    let body = body.to_string();
    let head = format!("POST {target} HTTP/1.1\r\nHost: weft.test\r\nContent-Length: {}\r\n\r\n", body.len());
    client.try_send(format!("{head}{body}")).ok()?;
    let response = client.try_read().ok()?;
    let text = response.text();
    assert!(matches!(response.status, 200 | 503), "{target}: {} {text}", response.status);
    // A 503 without JSON comes from the server itself, which is stopping: it confirms nothing.
    serde_json::from_str(&text).ok().or_else(|| {
        assert_eq!(response.status, 503, "{target}: {text}");
        None
    })
}

/// The ids of all operations in a database.
pub fn stored(dsn: &str) -> BTreeSet<String> {
    let script = "$pdo = new PDO($argv[1], 'popup', 'secret'); \
                  foreach ($pdo->query('SELECT id FROM operations') as $row) { echo $row[0], \"\\n\"; }";
    let output = finish(Command::new("php").args(["-r", script, "--", dsn]));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout.lines().map(String::from).collect()
}

/// The database's operations minus those it has counted: both change in one transaction, whichever process
/// dies.
fn uncounted(dsn: &str) -> String {
    let script = "$pdo = new PDO($argv[1], 'popup', 'secret'); \
                  echo $pdo->query('SELECT (SELECT COUNT(*) FROM operations) - (SELECT SUM(number) FROM operation_counts)')->fetchColumn();";
    let output = finish(Command::new("php").args(["-r", script, "--", dsn]));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    output.stdout
}

/// Asserts that no operation is lost and each is counted once: waits until the database has every confirmed one.
pub fn expect_all(dsn: &str, confirmed: &BTreeSet<String>) {
    assert!(confirmed.len() > 100, "only {} operations were confirmed", confirmed.len());
    let deadline = std::time::Instant::now() + weft_tests::PATIENCE * 4 / 5;
    until("every confirmed operation to be in the database", || {
        let stored = stored(dsn);
        let lost: Vec<_> = confirmed.difference(&stored).take(5).collect();
        let count = confirmed.difference(&stored).count();
        assert!(
            lost.is_empty() || std::time::Instant::now() < deadline,
            "{count} are lost, {lost:?} among them"
        );
        lost.is_empty().then_some(())
    });
    assert_eq!(uncounted(dsn), "0", "operations that were not counted once");
}
