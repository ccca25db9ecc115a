//! Requests that find no room in one worker are answered by another that has some, whatever runs in the first.

use weft_tests::{Client, Running, Server, in_each_mode, until};

const PAGES: &str = r#"
function page(string $path, string $method, string $body): string
{
    if (preg_match('~^/(waits|computes)/(\w+)~', $path, $match)) {
        set_time_limit(0);
        touch(__DIR__ . "/$match[2].in");
        for ($n = 0; !is_file(__DIR__ . "/$match[2].gate"); $n++) {
            if ($match[1] === 'waits') {
                usleep(3000);
            }
            clearstatcache();
        }
        return $match[2];
    }
    return "$path $body of " . getmypid();
}
"#;

/// Two workers with room for one request each.
fn servers() -> [(&'static str, Server); 3] {
    in_each_mode(PAGES).map(|(mode, server)| {
        let room = if mode == "coroutine" { "--coroutines-max" } else { "--instances" };
        (mode, server.with("--workers", "2").with("--extra-workers-max", "0").with(room, "1"))
    })
}

/// A client whose request has taken the room of a worker.
fn begin(weft: &Running, kind: &str, name: &str) -> Client {
    let mut client = weft.connect();
    client.get(&format!("/{kind}/{name}"));
    until("the page to begin", || weft.path(&format!("{name}.in")).exists().then_some(()));
    client
}

fn end(weft: &Running, (mut client, name): (Client, &str)) {
    weft.write(&format!("{name}.gate"), "");
    assert_eq!(client.read().text(), name);
}

#[test]
fn a_worker_without_room_keeps_nobody_waiting_while_another_has_some() {
    for (mode, server) in servers() {
        let weft = server.start();
        let mut old: Vec<Client> = (0..12).map(|_| weft.connect()).collect();
        for client in &mut old {
            client.get("/before");
            assert_eq!(client.read().status, 200, "{mode}");
        }
        let kind = if mode == "coroutine" { "waits" } else { "computes" };
        let first = begin(&weft, kind, "first");
        for client in &mut old {
            client.get("/old");
        }
        for (n, client) in old.iter_mut().enumerate() {
            assert!(client.read().text().starts_with("/old "), "{mode}, {n}: {}", weft.log());
        }
        for n in 0..20 {
            let mut client = weft.connect();
            client.post(&format!("/new/{n}"), "text/plain", "a body");
            assert!(
                client.read().text().starts_with(&format!("/new/{n} a body of ")),
                "{mode}: {}",
                weft.log()
            );
        }
        end(&weft, (first, "first"));
    }
}

#[test]
fn a_request_that_waits_for_room_gets_the_first_there_is_in_any_worker() {
    for (mode, server) in servers() {
        let weft = server.start();
        let [one, two] = ["one", "two"].map(|name| begin(&weft, "waits", name));
        let mut waiting: Vec<Client> = (0..8).map(|_| weft.connect()).collect();
        for client in &mut waiting {
            client.get("/waited");
        }
        end(&weft, (two, "two"));
        for client in &mut waiting {
            assert!(client.read().text().starts_with("/waited "), "{mode}: {}", weft.log());
        }
        end(&weft, (one, "one"));
    }
}
