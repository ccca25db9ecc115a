//! `request_slow_ms` names a request that takes long, whether it waits or computes, with what it waits for and where its time
//! went.

use std::net::TcpListener;

use weft_tests::{Running, Server, in_each_mode};

const PAGES: &str = r#"
function asks(string $of): string
{
    $peer = stream_socket_client("tcp://$of");
    return fgets($peer);
}

function page(string $path): string
{
    if (preg_match('~^/asks/(.+)~', $path, $match)) {
        return asks($match[1]);
    }
    if (preg_match('~^/rests/(.+)~', $path, $match)) {
        usleep(1500000);
        return asks($match[1]);
    }
    if ($path === '/sleeps') {
        while (!is_file(__DIR__ . '/gate')) {
            usleep(600000);
            clearstatcache();
        }
    }
    if ($path === '/computes') {
        for ($n = 0; !is_file(__DIR__ . '/gate'); $n++) {
            clearstatcache();
        }
    }
    return $path;
}
"#;

fn served(instances: &str) -> impl Iterator<Item = (&'static str, Server)> {
    let with = move |server: Server, mode| match mode {
        "coroutine" => server.with("--preempt-ms", "5"),
        _ => server.with("--instances", instances),
    };
    in_each_mode(PAGES)
        .into_iter()
        .map(move |(mode, server)| (mode, with(server, mode).with("--request-slow-ms", "200")))
}

/// A peer that says something when it is dropped.
struct Silent(TcpListener);

impl Silent {
    fn new() -> Silent {
        Silent(TcpListener::bind("127.0.0.1:0").expect("a port"))
    }

    fn address(&self) -> String {
        self.0.local_addr().expect("an address").to_string()
    }

    fn answers(self) {
        let (mut peer, _) = self.0.accept().expect("the page's connection");
        std::io::Write::write_all(&mut peer, b"at last\n").expect("the page reads");
    }
}

/// The line of the log with this text, once it is there.
fn line_of(weft: &mut Running, text: &str) -> String {
    weft.wait_for_log(text);
    let log = weft.log();
    log.lines().find(|line| line.contains(text)).expect("it was waited for").to_owned()
}

fn names_who_waits(instances: &str) {
    for (mode, server) in served(instances) {
        let (mut weft, silent) = (server.start(), Silent::new());
        let address = silent.address();
        let mut client = weft.connect();
        client.get(&format!("/asks/{address}"));
        let line = line_of(&mut weft, "is slow");
        for part in [
            &format!("GET /asks/{address} is slow"),
            "waits in fgets() at ",
            "pages.inc:5, called at ",
            "pages.inc:11",
            &format!("it waits for {address}"),
        ] {
            assert!(line.contains(part), "{mode}, {instances}: {part} in {line}");
        }
        silent.answers();
        assert_eq!(client.read().text(), "at last\n", "{mode}");
        assert_eq!(weft.log().matches("is slow").count(), 1, "{mode}: {}", weft.log());
    }
}

#[test]
fn who_waits_is_named_with_the_peer() {
    names_who_waits("8");
}

#[test]
fn who_waits_alone_in_his_worker_is_named() {
    names_who_waits("1");
}

#[test]
fn who_sleeps_and_who_computes_is_named() {
    for (mode, server) in served("8") {
        let mut weft = server.start();
        let [mut sleeps, mut computes] = ["/sleeps", "/computes"].map(|target| {
            let mut client = weft.connect();
            client.get(target);
            client
        });
        let line = line_of(&mut weft, "GET /sleeps is slow");
        let said = line.contains("waits in usleep() at ") && line.contains("it waits for a time");
        assert!(said || line.contains("computes in "), "{mode}: {line}");
        let line = line_of(&mut weft, "GET /computes is slow");
        assert!(line.contains("pages.inc:2"), "{mode}: {line}");
        weft.write("gate", "open");
        assert_eq!(sleeps.read().text(), "/sleeps", "{mode}");
        assert_eq!(computes.read().text(), "/computes", "{mode}");
    }
}

/// The time that a line says after some words, in milliseconds.
fn ms_after(line: &str, words: &str) -> f64 {
    let (_, rest) = line.split_once(words).unwrap_or_else(|| panic!("{words} in {line}"));
    let mut parts = rest.split([' ', ',', ';', ')']);
    let number: f64 = parts.next().and_then(|number| number.parse().ok()).expect("a number");
    if parts.next() == Some("s") { number * 1000.0 } else { number }
}

#[test]
fn the_line_says_where_the_time_went_and_where_the_longest_wait_was() {
    for (mode, server) in in_each_mode(PAGES) {
        let (mut weft, silent) = (server.with("--request-slow-ms", "1600").start(), Silent::new());
        let mut client = weft.connect();
        client.get(&format!("/rests/{}", silent.address()));
        let line = line_of(&mut weft, "is slow");
        let [ran, waited, slept, asked, longest] =
            ["has run for ", "has waited for ", "(sleep ", ", server ", "longest wait took "]
                .map(|words| ms_after(&line, words));
        assert!((1490.0..1600.0).contains(&slept) && slept == longest, "{mode}: {line}");
        assert!(ran < 500.0 && asked > 0.0 && (waited - slept - asked).abs() < 20.0, "{mode}: {line}");
        let place = line.split_once("longest wait took ").map_or("", |(_, place)| place);
        for part in ["(sleep), in usleep() at ", "pages.inc:14"] {
            assert!(place.contains(part), "{mode}: {part} in {line}");
        }
        silent.answers();
        assert_eq!(client.read().text(), "at last\n", "{mode}");
    }
}

#[test]
fn what_tasks_wait_for_is_told_apart() {
    let mut weft = Server::new(
        r"return static function (Weft\Http\Request $request): string {
            $tasks = [];
            for ($n = 0; $n < 3; $n++) {
                $tasks[] = Weft\go(static fn () => usleep(300000));
            }
            foreach ($tasks as $task) {
                $task->await();
            }
            while (!is_file(__DIR__ . '/gate')) {
                usleep(20000);
                clearstatcache();
            }
            return 'done';
        };",
    )
    .with("--request-slow-ms", "400")
    .start();
    let mut client = weft.connect();
    client.get("/");
    let line = line_of(&mut weft, "is slow");
    let of_tasks = line.split_once("; its tasks have run for ").map_or("", |(_, told)| told);
    assert!(of_tasks.contains("sleep") && of_tasks.contains("in 3 waits"), "{line}");
    assert!(ms_after(of_tasks, "sleep ") >= 890.0, "{line}");
    assert!(ms_after(&line, "coroutine ") >= 290.0, "the request waited for its tasks: {line}");
    weft.write("gate", "open");
    assert_eq!(client.read().text(), "done");
}
