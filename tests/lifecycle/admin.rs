//! What weft says of itself at `admin://` addresses.

use std::collections::HashMap;
use std::net::SocketAddr;

use rustix::process::Signal;
use weft_tests::{Client, Response, Running, Server, in_each_mode, php, process, until, weft};

use crate::{APPLICATION, changed};

const PAGES: &str = "
function page(string $path): string
{
    while ($path === '/wait' && !is_file(__DIR__ . '/gate') && !is_file(__DIR__ . '/../gate')) {
        usleep(1000);
        clearstatcache();
    }
    return $path === '/404' ? strval(http_response_code(404)) : 'the application';
}";

pub(crate) fn with_admin(server: Server) -> Server {
    server.with("--listen", "127.0.0.1:0").with("--listen", "admin://127.0.0.1:0")
}

pub(crate) fn address(weft: &Running) -> SocketAddr {
    let log = weft.log();
    let found = log.lines().find_map(|line| line.strip_prefix("weft: listening on admin://"));
    found.expect("it says where").parse().unwrap()
}

pub(crate) fn ask(weft: &Running, target: &str, token: Option<&str>) -> Response {
    let mut client = Client::connect(address(weft));
    let token = token.map(|token| format!("Authorization: Bearer {token}\r\n")).unwrap_or_default();
    client.send(format!("GET {target} HTTP/1.1\r\nHost: x\r\n{token}\r\n"));
    client.read()
}

/// The samples of `/metrics`, by name and labels.
pub(crate) fn metrics(weft: &Running) -> HashMap<String, f64> {
    samples(&ask(weft, "/metrics", None))
}

/// Those of an answer.
pub(crate) fn samples(response: &Response) -> HashMap<String, f64> {
    assert_eq!(response.status, 200);
    assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let text = response.text();
    let samples = text.lines().filter(|line| !line.starts_with('#'));
    let samples = samples.map(|line| line.rsplit_once(' ').expect("a name and a value"));
    samples.map(|(name, value)| (name.to_owned(), value.parse().expect("a number"))).collect()
}

#[test]
fn the_operator_is_answered_apart_from_clients() {
    for (mode, server) in in_each_mode(PAGES) {
        let weft = with_admin(server).start();
        assert_eq!(ask(&weft, "/healthz", None).text(), "alive\n", "{mode}");
        assert_eq!(ask(&weft, "/readyz", None).text(), "ready\n", "{mode}");
        assert_eq!(ask(&weft, "/status", None).json()["mode"], *mode, "{mode}");
        let missing = ask(&weft, "/nothing", None);
        assert!(missing.status == 404 && missing.text().contains("/metrics\n"), "{mode}");
        for path in ["/healthz", "/metrics", "/status"] {
            assert_eq!(weft.get(path).text(), "the application", "{mode} {path}");
        }
        let mut client = Client::connect(address(&weft));
        client.send("POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
        assert_eq!((client.read().status, mode), (405, mode));
    }
}

#[test]
fn what_happened_is_in_the_numbers() {
    let (_, server) = in_each_mode(PAGES).into_iter().next().unwrap();
    let weft = with_admin(server).start();
    for _ in 0..20 {
        assert_eq!(weft.get("/").status, 200);
    }
    weft.say("nonsense\r\n\r\n");
    let seen = metrics(&weft);
    assert_eq!(seen["weft_requests_total"], 20.0);
    assert_eq!(seen["weft_answers_total{class=\"2xx\"}"], 20.0);
    assert_eq!(seen["weft_refused_requests_total"], 1.0);
    assert_eq!(seen["weft_answers_total{class=\"4xx\"}"], 1.0);
    assert_eq!(seen["weft_request_duration_seconds_count"], 21.0);
    assert_eq!(seen["weft_request_duration_seconds_bucket{le=\"+Inf\"}"], 21.0);
    assert!(seen["weft_request_duration_seconds_sum"] > 0.0);
    assert_eq!(seen["weft_workers{stage=\"ready\"}"], 1.0);
    let pid = weft.workers()[0];
    assert!(seen[&format!("weft_worker_memory_bytes{{worker=\"0\",pid=\"{pid}\"}}")] > 1e6);
}

#[test]
fn counts_outlive_the_worker_that_counted() {
    let mut weft = with_admin(Server::new(APPLICATION)).with("--workers", "1").start();
    for _ in 0..7 {
        weft.get("/");
    }
    assert_eq!(metrics(&weft)["weft_requests_total"], 7.0);
    process::signal(weft.workers()[0], Signal::KILL);
    weft.wait_for_log("was killed by signal 9");
    let seen = until("another worker to be ready", || {
        let seen = Client::try_connect(address(&weft)).is_ok().then(|| metrics(&weft))?;
        (seen["weft_workers{stage=\"ready\"}"] == 1.0 && seen["weft_worker_deaths_total"] == 1.0)
            .then_some(seen)
    });
    assert_eq!(seen["weft_requests_total"], 7.0);
    weft.get("/");
    assert_eq!(metrics(&weft)["weft_requests_total"], 8.0);
}

#[test]
fn it_is_answered_while_the_application_has_no_room() {
    for (mode, server) in in_each_mode(PAGES) {
        let limit = if mode == "coroutine" { "--coroutines-max" } else { "--instances" };
        let weft = with_admin(server).with(limit, "1").start();
        let mut clients: Vec<_> = (0..3).map(|_| weft.connect()).collect();
        clients.iter_mut().for_each(|client| client.get("/wait"));
        until("two requests to wait", || (metrics(&weft)["weft_requests_queued"] == 2.0).then_some(()));
        assert_eq!(ask(&weft, "/readyz", None).status, 200, "{mode}");
        weft.write("gate", "open");
        clients.iter_mut().for_each(|client| assert_eq!(client.read().text(), "the application", "{mode}"));
    }
}

#[test]
fn requests_that_wait_for_their_share_are_queued() {
    for (mode, server) in in_each_mode(PAGES) {
        let weft = with_admin(server).with("--instances", "8").with("--shares", "path /wait 1").start();
        let mut clients: Vec<_> = (0..3).map(|_| weft.connect()).collect();
        clients.iter_mut().for_each(|client| client.get("/wait"));
        until("two requests to wait", || (metrics(&weft)["weft_requests_queued"] == 2.0).then_some(()));
        weft.write("gate", "open");
        clients.iter_mut().for_each(|client| assert_eq!(client.read().text(), "the application", "{mode}"));
    }
}

#[test]
fn who_has_no_token_learns_whether_it_lives() {
    const TOKEN: &str = "0123456789abcdef";
    let weft = with_admin(Server::new(APPLICATION)).with_variable("WEFT_ADMIN_TOKEN", TOKEN).start();
    for (path, status) in
        [("/healthz", 200), ("/readyz", 200), ("/metrics", 401), ("/status", 401), ("/x", 401)]
    {
        assert_eq!(ask(&weft, path, None).status, status, "{path}");
        assert_eq!(ask(&weft, path, Some("0123456789abcdeg")).status, status, "{path}");
    }
    assert_eq!(ask(&weft, "/metrics", None).header("www-authenticate"), Some("Bearer"));
    assert_eq!(ask(&weft, "/metrics", Some(TOKEN)).status, 200);
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    let server = Server::new(APPLICATION);
    let check = |arguments: &[&str]| weft(server.directory(), &[&["check", "app.php"], arguments].concat());
    for address in ["admin://0.0.0.0:9180", "admin://[::]:9180", "admin://:9180"] {
        let outcome = check(&["--listen", "127.0.0.1:8080", "--listen", address]);
        assert_eq!(outcome.code, Some(1), "{address}: {outcome:?}");
        assert!(
            outcome.stderr.contains("can be reached from other machines: set admin.token"),
            "{outcome:?}"
        );
        let with_token =
            ["--listen", "127.0.0.1:8080", "--listen", address, "--admin-token", "0123456789abcdef"];
        assert_eq!(check(&with_token).code, Some(0), "{address}");
    }
    let alone = check(&["--listen", "admin://127.0.0.1:9180"]);
    assert!(alone.stderr.contains("only addresses for the operator"), "{alone:?}");
    let short = check(&["--admin-token", "short"]);
    assert!(short.stderr.contains("16 to 256 printable ASCII characters"), "{short:?}");
}

#[test]
fn a_unix_socket_is_for_the_servers_own_user() {
    use std::os::unix::fs::PermissionsExt;
    let server = Server::new(APPLICATION);
    let path = server.directory().join("admin.sock");
    let weft = server
        .with("--listen", "127.0.0.1:0")
        .with("--listen", &format!("admin+unix:{}", path.display()))
        .start();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let mut client = Client::connect_unix(&path);
    client.send("GET /status HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(client.read().json()["master"], weft.pid());
}

#[test]
fn a_reload_keeps_the_address() {
    let weft =
        with_admin(Server::new(APPLICATION)).with("--pid-file", "weft.pid").with("--workers", "2").start();
    let before = address(&weft);
    weft.write_application(&changed("two"));
    let outcome = weft.weft(&["reload", "--pid-file=weft.pid"]);
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert_eq!(before, address(&weft));
    assert_eq!(ask(&weft, "/status", None).json()["generation"], 2);
    weft.write_application("function {");
    assert_eq!(weft.weft(&["reload", "--pid-file=weft.pid"]).code, Some(1));
    until("the failure to be counted", || (metrics(&weft)["weft_failed_reloads_total"] == 1.0).then_some(()));
    assert_eq!(ask(&weft, "/readyz", None).status, 200);
}

#[test]
fn monitors_of_php_fpm_find_its_fields() {
    const FIELDS: [&str; 15] = [
        "pool",
        "process manager",
        "start time",
        "start since",
        "accepted conn",
        "listen queue",
        "max listen queue",
        "listen queue len",
        "idle processes",
        "active processes",
        "total processes",
        "max active processes",
        "max children reached",
        "slow requests",
        "memory peak",
    ];
    let known = if php::version().as_str() < "8.4" { &FIELDS[..14] } else { &FIELDS };
    let weft = with_admin(Server::new(APPLICATION)).start();
    weft.get("/");
    let text = ask(&weft, "/fpm-status", None).text();
    let names: Vec<_> = text.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name).collect();
    assert_eq!(names, known);
    let json = ask(&weft, "/fpm-status?json&full", None).json();
    known.iter().for_each(|name| assert!(!json[*name].is_null(), "{name}"));
    assert_eq!((&json["accepted conn"], &json["processes"][0]["state"]), (&1.into(), &"Running".into()));
    let xml = ask(&weft, "/fpm-status?xml", None);
    assert_eq!(xml.header("content-type"), Some("text/xml"));
    assert!(xml.text().contains("<accepted-conn>1</accepted-conn>\n"), "{}", xml.text());
}

#[test]
fn openmetrics_is_sent_to_those_who_ask_for_it() {
    let weft = with_admin(Server::new(APPLICATION)).start();
    let mut client = Client::connect(address(&weft));
    client.send(
        "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text;version=1.0.0\r\n\r\n",
    );
    let response = client.read();
    assert!(
        response.header("content-type").unwrap().starts_with("application/openmetrics-text; version=1.0.0")
    );
    let text = response.text();
    assert!(text.ends_with("\n# EOF\n"));
    assert!(text.contains("# TYPE weft_requests counter\nweft_requests_total "), "{text}");
    // It waits for requests, so it has left its core.
    let seen = metrics(&weft);
    let left = |(name, value): (&String, &f64)| {
        name.contains("context_switches") && name.contains("=\"voluntary") && *value > 0.0
    };
    assert!(seen.iter().any(left), "{seen:?}");
    assert!(seen["weft_busy_connections"] <= seen["weft_connections"], "{seen:?}");
}

#[test]
fn the_numbers_say_what_is_waited_for() {
    const WAITS: &str = "
function page(string $path): string
{
    if ($path === '/sleep') {
        usleep(1000);
    } elseif ($path === '/wait') {
        $gate = fopen(__DIR__ . '/gate', 'c') ?: fopen(__DIR__ . '/../gate', 'c');
        flock($gate, LOCK_EX);
    } elseif ($path === '/connect') {
        // To itself; that nobody speaks HTTP to it does not matter.
        $server = stream_socket_server('tcp://127.0.0.1:0');
        @file_get_contents('http://' . stream_socket_get_name($server, false), false, stream_context_create(['http' => ['timeout' => 0.01]]));
    }
    return 'done';
}";
    for (mode, server) in in_each_mode(WAITS) {
        let gate = std::fs::File::create(server.directory().join("gate")).unwrap();
        gate.lock().unwrap();
        let weft = with_admin(server).start();
        assert_eq!(weft.get("/sleep").text(), "done", "{mode}");
        assert_eq!(weft.get("/connect").text(), "done", "{mode}");
        let of = |name: &str, kind: &str| metrics(&weft)[&format!("{name}{{kind=\"{kind}\"}}")];
        for kind in ["sleep", "http"] {
            assert!(of("weft_waits_total", kind) >= 1.0, "{mode} {kind}");
            assert!(of("weft_wait_seconds_total", kind) >= 0.001, "{mode} {kind}");
        }
        let mut waiting = weft.connect();
        waiting.get("/wait");
        until("the request waits for the lock", || (of("weft_waiting", "lock") == 1.0).then_some(()));
        gate.unlock().unwrap();
        assert_eq!(waiting.read().text(), "done", "{mode}");
        until("nobody waits for it", || (of("weft_waiting", "lock") == 0.0).then_some(()));
        assert!(of("weft_waits_total", "lock") >= 1.0, "{mode}");
    }
}
