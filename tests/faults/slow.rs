//! `request_slow_ms` names a request that takes long, whether it waits or computes, with what it waits for.

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
