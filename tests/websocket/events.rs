//! Server-sent events of topics: who gets what is published, what a client gets that comes back, and that nothing is held for it.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};

use rustix::process::Signal;
use weft_tests::browser::Browser;
use weft_tests::events::Events;
use weft_tests::{Running, Server, process, until};

/// What each mode serves: `$path`, and a function that sends a response.
const PAGES: &str = r#"
use Weft\Http\{Event, Response};
use Weft\Topic;
use Weft\WebSocket\Overflow;

function page(string $path, string $method, string $body): mixed
{
    parse_str((string) parse_url($path, PHP_URL_QUERY), $query);
    $topics = explode(' ', $query['topics'] ?? 'news');
    return match (parse_url($path, PHP_URL_PATH)) {
        '/events' => Response::events(topics: $topics),
        '/labelled' => Response::events(topics: $topics, labelled: true, retryMs: 50),
        '/beating' => Response::events(topics: $topics, heartbeat: 0.05),
        '/newest' => Response::events(topics: $topics, overflow: Overflow::DropOldest),
        '/state' => Response::events((function () {
            $id = Topic::publish('news', 'while it is made');
            yield new Event('the state', name: 'state');
        })(), topics: $topics),
        '/recent' => Response::events(topics: $topics, labelled: true, recent: (int) $query['recent']),
        '/state-and-recent' => Response::events((function () {
            Topic::publish('news', 'while it is made');
            yield new Event('the state', name: 'state');
        })(), topics: $topics, recent: 2),
        '/history' => Response::json(Topic::recent($query['topic'] ?? 'news', (int) $query['count'])),
        '/present' => Response::events(topics: ['room', '7', 'presence:room'], attend: ['room' => $query['name'], '7' => 'seven']),
        '/nowhere' => Response::events(topics: 'room', attend: ['another' => 'x']),
        '/nameless' => Response::events(topics: 'room', attend: ['room' => "a\tb"]),
        '/who' => Response::json(array_values(Topic::present($query['topic'] ?? 'room'))),
        '/many' => Response::events(topics: array_map(strval(...), range(1, 65))),
        '/named' => Response::events(topics: "a\nb"),
        '/page' => new Response('<!DOCTYPE html><p id="heard"></p><p id="opened">0</p><script>
            const events = new EventSource("/labelled");
            events.onopen = () => ++document.getElementById("opened").textContent;
            for (const name of ["news", "missed"]) {
                events.addEventListener(name, (event) => document.getElementById("heard").textContent += `${name} ${event.data};`);
            }
            </script>', headers: ['Content-Type' => 'text/html']),
        '/publish' => Response::text(Topic::publish($query['topic'] ?? 'news', $body, isset($query['binary']))),
        '/flood' => Response::text((string) array_sum(array_map(
            fn (int $n) => strlen(Topic::publish('news', str_pad("$n ", 1000, '.'))) > 0, range((int) $query['from'], (int) $query['to'])))),
        '/count' => Response::text((string) Topic::count('news')),
        '/pid' => Response::text((string) getmypid()),
        '/coroutines' => Response::text((string) count(Weft\Coroutine::list())),
    };
}
"#;

pub fn servers() -> [(&'static str, Server); 3] {
    let classic = "<?php require __DIR__ . '/../pages.inc';
        $response = page($_SERVER['REQUEST_URI'], $_SERVER['REQUEST_METHOD'], file_get_contents('php://input'));
        $response->send();
        if ($response->header('Content-Type') === 'text/event-stream') { echo 'nobody gets this'; }";
    let resident = "<?php require __DIR__ . '/pages.inc'; return fn ($r) => page(
        (string) $r->target(), $r->method(), (string) $r->body());";
    let coroutine = "require __DIR__ . '/pages.inc';
        return fn ($r) => page((string) $r->target(), $r->method(), (string) $r->body());";
    let servers = [
        ("classic", Server::of_docroot(&[("index.php", classic)])),
        ("resident", Server::of_script("worker.php", resident)),
        ("coroutine", Server::new(coroutine)),
    ];
    servers.map(|(mode, server)| (mode, server.with_file("pages.inc", &format!("<?php {PAGES}"))))
}

pub fn server() -> Server {
    let [_, _, (_, coroutine)] = servers();
    coroutine
}

pub fn publish(weft: &Running, target: &str, body: impl AsRef<[u8]>) -> String {
    let mut client = weft.connect();
    client.post(target, "application/octet-stream", body);
    client.read().text()
}

fn count(weft: &Running) -> String {
    weft.get("/count").text()
}

#[test]
fn what_is_published_reaches_the_clients_of_all_workers_in_every_mode() {
    for (mode, server) in servers() {
        let weft = server.with("--workers", "2").start();
        let mut all: Vec<Events> = (0..12).map(|_| Events::open(&weft, "/events").0).collect();
        let (mut labelled, _) = Events::open(&weft, "/labelled?topics=news+other");
        assert_eq!(count(&weft), "13", "{mode}");
        if mode == "coroutine" {
            assert_eq!(weft.get("/coroutines").text(), "1", "the one that asks");
        }
        let id = publish(&weft, "/publish", "one\ntwo\r\nthree");
        for events in &mut all {
            let block = events.block();
            assert_eq!(block, format!("id: {id}\ndata: one\ndata: two\ndata: three"), "{mode}");
        }
        assert_eq!(labelled.block(), format!("event: news\nid: {id}\ndata: one\ndata: two\ndata: three"));
        let id = publish(&weft, "/publish?topic=other", "");
        assert_eq!(labelled.block(), format!("event: other\nid: {id}\ndata: "));
        let id = publish(&weft, "/publish?binary=1", [0xFF, 0x0A]);
        assert_eq!(all[0].block(), format!("event: binary\nid: {id}\ndata: /wo="), "{mode}");
        assert_eq!(labelled.block(), format!("event: news\nid: {id}\ndata: /wo="));
        drop(all);
        until("those who have gone are forgotten", || (count(&weft) == "1").then_some(()));
    }
}

#[test]
fn a_client_that_comes_back_gets_what_it_has_missed_or_is_told_that_it_is_too_late() {
    let weft = server().with("--workers", "2").with("--topics-history-max", "5").start();
    let (mut first, start) = Events::open(&weft, "/events?topics=news+other");
    let ids: Vec<String> = (0..4)
        .map(|n| publish(&weft, if n % 2 == 0 { "/publish" } else { "/publish?topic=other" }, n.to_string()))
        .collect();
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(first.event(), (n.to_string(), id.clone()));
    }
    // In the order in which it was published, whatever the topic; then what is new.
    let mut back = Events::resume(&weft, "/events?topics=news+other", &ids[0]);
    for (n, id) in ids.iter().enumerate().skip(1) {
        assert_eq!(back.event(), (n.to_string(), id.clone()));
    }
    let newest = publish(&weft, "/publish", "new");
    assert_eq!(back.event(), ("new".to_owned(), newest.clone()));
    // One that was cut off before its first event has an id, too.
    let mut early = Events::resume(&weft, "/events", &start);
    assert_eq!((early.event().0, early.event().0, early.event().0), ("0".into(), "2".into(), "new".into()));
    // Nothing was missed.
    let mut none = Events::resume(&weft, "/events", &newest);
    assert!(none.block().starts_with("id: "));
    (0..6).for_each(|n| drop(publish(&weft, "/publish", format!("more {n}"))));
    let last = (0..6).map(|_| none.event()).last().expect("six");
    assert_eq!(last.0, "more 5");
    for id in [&ids[0], "1-8", "nonsense"] {
        let mut late = Events::resume(&weft, "/events", id);
        let block = late.block();
        let said = block.strip_prefix("event: missed\nid: ").unwrap_or_else(|| panic!("{block:?}"));
        let (position, data) = said.split_once('\n').expect("data");
        assert_eq!(data, "data: messages were missed");
        // From there on nothing is missed.
        let id = publish(&weft, "/publish", "after it");
        assert_eq!(late.event(), ("after it".to_owned(), id.clone()));
        assert_eq!(Events::resume(&weft, "/events", position).event(), ("after it".to_owned(), id));
    }
}

#[test]
fn what_is_published_while_the_first_events_are_made_follows_them() {
    for (mode, server) in servers() {
        let weft = server.start();
        for last in ["", "Last-Event-ID: 1-8\r\n"] {
            let mut events = Events::ask(&weft, "/state", last);
            assert_eq!(events.block(), "event: state\ndata: the state", "{mode}");
            assert!(events.block().starts_with("retry: 2000"));
            assert_eq!(events.event().0, "while it is made");
        }
    }
}

#[test]
fn comments_come_while_no_event_does() {
    let weft = server().start();
    let (mut events, _) = Events::open(&weft, "/beating");
    for _ in 0..3 {
        assert_eq!(events.block(), ":");
    }
    let id = publish(&weft, "/publish", "x");
    assert_eq!(events.event(), ("x".to_owned(), id));
    assert_eq!(events.block(), ":");
}

#[test]
fn a_client_that_does_not_read_delays_nobody_and_its_stream_ends_or_has_the_newest() {
    let weft =
        server().with("--websocket-queue-bytes-max", "131072").with("--topics-history-max", "100000").start();
    let (mut slow, _) = Events::open(&weft, "/events");
    let (mut newest, _) = Events::open(&weft, "/newest");
    let (mut reader, _) = Events::open(&weft, "/events");
    const COUNT: usize = 20_000;
    // No more at once than its queue has room for.
    for from in (1..COUNT).step_by(100) {
        let to = from + 99;
        assert_eq!(weft.get(&format!("/flood?from={from}&to={to}")).text(), "100");
        for n in from..=to {
            assert!(reader.event().0.starts_with(&format!("{n} .")), "{n}");
        }
    }
    // Its queue was full: its stream ends behind what it was sent, without a gap.
    let (mut heard, mut last) = (0, String::new());
    while let Some(block) = slow.next_block() {
        heard += 1;
        let (id, data) = block.split_once("\ndata: ").expect("an event");
        assert!(data.starts_with(&format!("{heard} .")), "{heard}: {block}");
        last = id.strip_prefix("id: ").expect("an id").to_owned();
    }
    assert!(heard < COUNT);
    let mut back = Events::ask(&weft, "/events", &format!("Last-Event-ID: {last}\r\n"));
    let first = back.block();
    assert!(first.starts_with("retry: "), "{first}");
    assert!(back.block().starts_with("event: missed\n"), "more than fits into its queue");
    // The other has lost the oldest ones, and has the newest.
    let mut known = 0;
    while known < COUNT {
        let number: usize = newest.event().0.split(' ').next().expect("a number").parse().expect("a number");
        assert!(number > known);
        known = number;
    }
    assert_eq!(count(&weft), "3");
}

#[test]
fn a_reload_ends_streams_and_those_who_come_back_miss_nothing() {
    for (mode, server) in servers() {
        let mut weft = server.start();
        let (mut events, _) = Events::open(&weft, "/events");
        let before = weft.workers();
        publish(&weft, "/publish", "before");
        let (data, id) = events.event();
        assert_eq!(data, "before", "{mode}");
        weft.signal(Signal::HUP);
        until("another worker", || weft.workers().iter().all(|pid| !before.contains(pid)).then_some(()));
        publish(&weft, "/publish", "meanwhile");
        let mut heard = Vec::new();
        let mut last = id;
        while let Some(block) = events.next_block() {
            if let Some((id, data)) = block.split_once("\ndata: ") {
                heard.push(data.to_owned());
                last = id.strip_prefix("id: ").expect("an id").to_owned();
            }
        }
        let mut back = Events::resume(&weft, "/events", &last);
        publish(&weft, "/publish", "after");
        while heard.last().map(String::as_str) != Some("after") {
            let block = back.block();
            heard.extend(block.split_once("\ndata: ").map(|(_, data)| data.to_owned()));
        }
        assert_eq!(heard, ["meanwhile", "after"], "{mode}");
        assert!(weft.is_alive());
    }
}

#[test]
fn a_worker_that_is_killed_takes_only_its_own_streams_along() {
    let weft = server().with("--workers", "2").with("--define", "opcache.enable=0").start();
    let mut all: Vec<Events> = (0..10).map(|_| Events::open(&weft, "/events").0).collect();
    publish(&weft, "/publish", "one");
    let last: Vec<String> = all.iter_mut().map(|events| events.event().1).collect();
    process::signal(weft.workers()[0], Signal::KILL);
    let two = until("a worker that answers", || {
        let mut client = weft.connect();
        let asked = client.try_send("POST /publish HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\ntwo");
        asked.ok().and_then(|()| client.try_read().ok()).filter(|answer| answer.status == 200)
    });
    let mut killed = 0;
    for (mut events, last) in all.into_iter().zip(last) {
        let mut length = String::new();
        if events.reader.read_line(&mut length).unwrap_or(0) == 0 {
            killed += 1;
            events = Events::resume(&weft, "/events", &last);
        } else {
            let mut rest = vec![0; usize::from_str_radix(length.trim_end(), 16).expect("a length") + 2];
            events.reader.read_exact(&mut rest).expect("the chunk");
            events.text = String::from_utf8(rest[..rest.len() - 2].to_vec()).expect("UTF-8");
        }
        assert_eq!(events.event(), ("two".to_owned(), two.text()));
    }
    assert!((1..10).contains(&killed), "{killed}");
}

/// curl, which prints what it gets of a stream over HTTP/2.
fn curl(weft: &Running, path: &str, last: &str) -> (Child, BufReader<ChildStdout>) {
    let mut curl = Command::new("curl");
    curl.args(["-sSN", "--http2-prior-knowledge", "-H", &format!("Last-Event-ID: {last}")]);
    curl.arg(format!("http://{}{path}", weft.address)).stdout(Stdio::piped());
    let mut child = curl.spawn().expect("curl");
    let out = BufReader::new(child.stdout.take().expect("a pipe"));
    (child, out)
}

fn block_of(reader: &mut impl BufRead) -> String {
    let mut block = String::new();
    while !block.ends_with("\n\n") {
        assert!(reader.read_line(&mut block).expect("a line") > 0, "{block:?}");
    }
    block
}

#[test]
fn streams_of_http_2_get_the_same() {
    for (mode, server) in servers() {
        let mut weft = server.with("--workers", "1").start();
        let id = publish(&weft, "/publish", "before");
        publish(&weft, "/publish", "missed");
        let (mut child, mut out) = curl(&weft, "/beating", &id);
        assert_eq!(block_of(&mut out), "retry: 2000\n\n", "{mode}");
        assert!(block_of(&mut out).ends_with("\ndata: missed\n\n"), "{mode}");
        assert_eq!(block_of(&mut out), ":\n\n");
        publish(&weft, "/publish", "live");
        while !block_of(&mut out).ends_with("\ndata: live\n\n") {}
        assert_eq!(count(&weft), "1");
        // One that goes is forgotten; one that stays is ended as it should be.
        let (mut gone, mut its) = curl(&weft, "/events", "");
        block_of(&mut its);
        until("two", || (count(&weft) == "2").then_some(()));
        gone.kill().and_then(|()| gone.wait()).expect("it is ours");
        until("one", || (count(&weft) == "1").then_some(()));
        weft.signal(Signal::HUP);
        let mut rest = String::new();
        out.read_to_string(&mut rest).expect("an end");
        assert!(child.wait().expect("it ends").success(), "{mode}: {rest}");
        assert!(weft.is_alive());
    }
}

#[test]
fn a_browser_comes_back_after_a_reload_and_has_everything_once() {
    let weft = server().start();
    let browser = Browser::start();
    browser.open(&format!("http://{}/page", weft.address));
    browser.wait_for_text("#opened", "1");
    publish(&weft, "/publish", "one");
    browser.wait_for_text("#heard", "news one;");
    let before = weft.workers();
    weft.signal(Signal::HUP);
    until("another worker", || weft.workers().iter().all(|pid| !before.contains(pid)).then_some(()));
    publish(&weft, "/publish", "two");
    browser.wait_for_text("#opened", "2");
    publish(&weft, "/publish", "three");
    browser.wait_for_text("#heard", "news one;news two;news three;");
}

#[test]
fn what_cannot_be_a_stream_is_refused_before_anything_is_sent() {
    let mut weft = server().start();
    for (target, why) in [
        ("/many", "A connection has at most 64 topics"),
        ("/named", "A topic's name is UTF-8, has 1 to 255 bytes, and no control characters"),
    ] {
        assert_eq!(weft.get(target).status, 500, "{target}");
        weft.wait_for_log(why);
    }
    let mut client = weft.connect();
    client.send("HEAD /events HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(client.read_of_head().header("Content-Type"), Some("text/event-stream"));
    client.get("/count");
    assert_eq!(client.read().text(), "0", "and the connection goes on");
}
