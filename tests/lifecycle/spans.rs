//! Spans of requests and of their waits at a collector (OTLP over HTTP), and the field `Server-Timing`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use crate::admin::{metrics, with_admin};
use rustix::process::Signal;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value as Json;
use weft_tests::services::{Authority, Collector as RealCollector, MariaDb, Redis};
use weft_tests::{Client, PATIENCE, Running, Server, in_each_mode, until};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const PARENT: &str = "b7ad6b7169203331";

const PAGES: &str = r#"
function page(string $path): string
{
    if (preg_match('~^/asks/([^?]+)~', $path, $match)) {
        $peer = stream_socket_client("tcp://$match[1]");
        fgets($peer);
    }

    return strtok($path, '?') . "\n";
}
"#;

/// A collector that answers with these statuses in turn, and with 200 from then on.
struct Collector {
    url: String,
    messages: Receiver<Message>,
}

/// What it was told.
struct Message {
    head: String,
    body: Json,
}

impl Collector {
    fn new(statuses: &'static [u16]) -> Collector {
        Collector::behind(statuses, None)
    }

    /// One that speaks TLS with a certificate of an authority, which it makes in a directory.
    fn with_tls(directory: &Path) -> Collector {
        Authority::new(directory).certify("collector", "IP:127.0.0.1", 2);
        let file = |name: &str| directory.join(name);
        let chain = CertificateDer::pem_file_iter(file("collector.pem")).expect("openssl has written it");
        let chain = chain.collect::<Result<Vec<_>, _>>().expect("certificates");
        let key = PrivateKeyDer::from_pem_file(file("collector.key")).expect("a key");
        let config = ServerConfig::builder().with_no_client_auth().with_single_cert(chain, key);
        Collector::behind(&[], Some(Arc::new(config.expect("they fit"))))
    }

    fn behind(statuses: &'static [u16], tls: Option<Arc<ServerConfig>>) -> Collector {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://{}", listener.local_addr().expect("an address"));
        let (to, messages) = channel();
        let mut statuses = statuses.iter().copied().chain(std::iter::repeat(200));
        std::thread::spawn(move || {
            // Its clients ask one after the other.
            for stream in listener.incoming() {
                let stream = stream.expect("a connection");
                let mut exchange = |stream| exchange(stream, || statuses.next().expect("endless"));
                let message = match &tls {
                    None => exchange(&mut { stream } as &mut dyn Stream),
                    Some(config) => {
                        let secure = ServerConnection::new(Arc::clone(config)).expect("its state");
                        exchange(&mut StreamOwned::new(secure, stream))
                    }
                };
                let _ = message.map(|message| to.send(message));
            }
        });
        Collector { url, messages }
    }

    fn message(&self) -> Message {
        self.messages.recv_timeout(PATIENCE).expect("a message")
    }

    /// The first span that one of the next messages has and that is such a one.
    fn span(&self, is_it: impl Fn(&Json) -> bool) -> Json {
        loop {
            if let Some(span) = spans_of(&self.message().body).into_iter().find(&is_it) {
                return span;
            }
        }
    }

    fn server_span(&self) -> Json {
        self.span(|span| span["kind"] == 2)
    }
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Reads one message, and answers it.
fn exchange(stream: &mut dyn Stream, status: impl FnOnce() -> u16) -> Option<Message> {
    let mut reader = BufReader::new(stream);
    let message = told(&mut reader)?;
    let status = status();
    let answer = format!("HTTP/1.1 {status} So\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{{}}");
    reader.get_mut().write_all(answer.as_bytes()).expect("sent");
    Some(message)
}

fn told(reader: &mut impl BufRead) -> Option<Message> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = head.to_ascii_lowercase();
    let length =
        length.split_once("content-length: ").expect("a length").1.split_once("\r\n").expect("a line").0;
    let mut body = vec![0; length.parse().expect("a number")];
    reader.read_exact(&mut body).ok()?;
    Some(Message { head, body: serde_json::from_slice(&body).expect("JSON") })
}

fn spans_of(message: &Json) -> Vec<Json> {
    message["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().expect("spans").clone()
}

/// What an attribute says, as text.
fn said(span: &Json, name: &str) -> String {
    let all = span["attributes"].as_array().expect("attributes");
    let value = all.iter().find(|attribute| attribute["key"] == name).map(|found| &found["value"]);
    let kinds = ["stringValue", "intValue", "boolValue"];
    let found = kinds.iter().find_map(|kind| value?.get(kind));
    found.map_or(String::new(), |found| found.as_str().map_or_else(|| found.to_string(), str::to_owned))
}

fn named<'a>(spans: &'a [Json], name: &str) -> &'a Json {
    spans.iter().find(|span| span["name"] == name).unwrap_or_else(|| panic!("no {name} in {spans:?}"))
}

/// Beginning and end.
fn times(span: &Json) -> [u128; 2] {
    ["startTimeUnixNano", "endTimeUnixNano"]
        .map(|name| span[name].as_str().expect("text").parse().expect("a number"))
}

/// The address of a peer that answers each client with a line.
fn peer() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::sleep(Duration::from_millis(20));
            let _ = stream.write_all(b"at last\n");
        }
    });
    address
}

#[test]
fn a_request_its_code_and_its_waits_are_spans_of_its_clients_trace() {
    for (mode, server) in in_each_mode(PAGES) {
        let (collector, peer) = (Collector::new(&[]), peer());
        let weft = server
            .with("--trace-url", &collector.url)
            .with("--trace-service", "shop")
            .with("--trace-headers", "X-Key: secret")
            .start();
        let line = format!("traceparent: 00-{TRACE}-{PARENT}-01");
        weft.say(format!("GET /asks/{peer}?password=x HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"));
        let message = collector.message();
        assert!(message.head.starts_with("POST /v1/traces HTTP/1.1\r\n"), "{mode}: {}", message.head);
        let head = message.head.to_ascii_lowercase();
        assert!(
            head.contains("x-key: secret") && head.contains("content-type: application/json"),
            "{mode}: {head}"
        );
        assert_eq!(said(&message.body["resourceSpans"][0]["resource"], "service.name"), "shop", "{mode}");
        let mut spans = spans_of(&message.body);
        // The answer may end later than its code, in a later message.
        if !spans.iter().any(|span| span["kind"] == 2) {
            spans.extend(spans_of(&collector.message().body));
        }
        assert!(spans.iter().all(|span| span["traceId"] == TRACE), "{mode}: {spans:?}");
        let server = spans.iter().find(|span| span["kind"] == 2).expect("the server's span");
        assert_eq!(server["parentSpanId"], PARENT, "{mode}");
        assert!(server["name"].as_str().expect("text").starts_with("GET"), "{mode}: {server}");
        assert_eq!(said(server, "url.path"), format!("/asks/{peer}"), "{mode}: without the query");
        assert_eq!(said(server, "http.response.status_code"), "200", "{mode}");
        assert_eq!(said(server, "client.address"), "127.0.0.1", "{mode}");
        let (php, wait) = (named(&spans, "php"), named(&spans, "server"));
        assert_eq!(php["parentSpanId"], server["spanId"], "{mode}");
        assert_eq!((&wait["parentSpanId"], &wait["kind"]), (&php["spanId"], &Json::from(3)), "{mode}");
        let (_, port) = peer.split_once(':').expect("a port");
        assert_eq!(
            (said(wait, "network.peer.address").as_str(), said(wait, "network.peer.port").as_str()),
            ("127.0.0.1", port),
            "{mode}"
        );
        let [began, ended] = times(wait);
        assert!(ended - began >= 15_000_000, "{mode}: {wait}");
    }
}

/// What is sent is read by OpenTelemetry's own receiver, and what it makes of it is what was meant.
#[test]
fn a_real_collector_understands_every_span() {
    let (collector, mariadb, peer) = (RealCollector::start(), MariaDb::start(), peer());
    let pages = format!(
        r#"function page(string $path): string
        {{
            $pdo = new PDO('mysql:host=127.0.0.1;port={};dbname=weft', 'root', '');
            $pdo->query('SELECT SLEEP(0.02)')->fetchColumn();
            fgets(stream_socket_client('tcp://{peer}'));
            if (str_starts_with($path, '/fails')) {{ http_response_code(503); }}
            return "a \u{{e9}} page";
        }}"#,
        mariadb.port
    );
    let [(_, server), ..] = in_each_mode(&pages);
    let weft = with_admin(server)
        .with("--trace-url", &collector.url)
        .with("--trace-service", "shop \"\u{e9}\"")
        .with("--workers", "1")
        .start();
    let traceparent = format!("traceparent: 00-{TRACE}-{PARENT}-01");
    for path in ["/caf%C3%A9?x=1", "/fails"] {
        weft.say(format!("GET {path} HTTP/1.1\r\nHost: a\r\nUser-Agent: a\t\"b\"\r\n{traceparent}\r\n\r\n"));
    }
    // Two servers' spans, the code of each, and what they wait for.
    let spans = until("both requests to be whole", || {
        let spans = collector.spans();
        let count = |name: &str| spans.iter().filter(|span| span["name"] == name).count();
        (count("php") == 2 && spans.iter().filter(|span| span["kind"] == 2).count() == 2).then_some(spans)
    });
    assert!(spans.iter().all(|span| span["traceId"] == TRACE), "{spans:#?}");
    let resource = &collector.resources()[0]["resource"];
    assert_eq!(said(resource, "service.name"), "shop \"\u{e9}\"");
    let by_path = |path: &str| {
        let server = spans.iter().find(|span| span["kind"] == 2 && said(span, "url.path") == path);
        let server = server.unwrap_or_else(|| panic!("no {path} in {spans:#?}"));
        let within = |parent: &Json| -> Vec<Json> {
            spans.iter().filter(|span| span["parentSpanId"] == parent["spanId"]).cloned().collect()
        };
        let php = named(&within(server), "php").clone();
        (server.clone(), php.clone(), within(&php))
    };
    let (server, php, waits) = by_path("/caf%C3%A9");
    assert_eq!(
        (&server["parentSpanId"], said(&server, "http.response.status_code").as_str()),
        (&PARENT.into(), "200")
    );
    assert_eq!(said(&server, "user_agent.original"), "a\t\"b\"");
    assert_eq!(said(&server, "http.request.method"), "GET");
    assert!(said(&php, "weft.ran_us").parse::<u64>().is_ok_and(|micros| micros > 0), "{php:#?}");
    let (mysql, other) = (named(&waits, "mysql"), named(&waits, "server"));
    assert_eq!((said(mysql, "db.system.name").as_str(), mysql["kind"].as_u64()), ("mysql", Some(3)));
    assert_eq!(said(mysql, "network.peer.port"), mariadb.port.to_string());
    assert_eq!(said(other, "network.peer.address"), "127.0.0.1");
    let outside = times(&php);
    for wait in &waits {
        let [began, ended] = times(wait);
        assert!(outside[0] <= began && began <= ended && ended <= outside[1], "{wait:#?} in {php:#?}");
    }
    let (failed, ..) = by_path("/fails");
    assert_eq!((failed["status"]["code"].as_u64(), said(&failed, "error.type").as_str()), (Some(2), "503"));
    assert!(server["status"]["code"].as_u64().unwrap_or(0) < 2, "{server:#?}");
    let sent = until("the spans to be counted", || {
        metrics(&weft).get("weft_trace_sent_spans_total").copied().filter(|sent| *sent >= spans.len() as f64)
    });
    assert_eq!(sent, collector.spans().len() as f64, "none twice, none lost");
}

#[test]
fn a_histogram_leads_to_a_trace() {
    let collector = Collector::new(&[]);
    let weft = with_admin(Server::new("return fn () => 'done';")).with("--trace-url", &collector.url).start();
    weft.say(format!("GET / HTTP/1.1\r\nHost: a\r\ntraceparent: 00-{TRACE}-{PARENT}-01\r\n\r\n"));
    collector.server_span();
    assert_leads_to_trace(&weft);
}

/// Its client records it, and tells its own collector.
#[test]
fn a_histogram_leads_to_the_trace_of_a_client_without_a_collector() {
    let weft = with_admin(Server::new("return fn () => 'done';")).start();
    let say = |flags: &str| {
        let parent = format!("traceparent: 00-{TRACE}-{PARENT}-{flags}");
        assert_eq!(weft.say(format!("GET / HTTP/1.1\r\nHost: a\r\n{parent}\r\n\r\n")).text(), "done");
    };
    say("00");
    assert!(!metrics_in(&weft, OPENMETRICS).contains(" # {"), "nobody records it");
    say("01");
    assert_leads_to_trace(&weft);
}

const OPENMETRICS: &str = "application/openmetrics-text;version=1.0.0";

fn metrics_in(weft: &Running, format: &str) -> String {
    let mut client = Client::connect(crate::admin::address(weft));
    client.send(format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {format}\r\n\r\n"));
    client.read().text()
}

fn assert_leads_to_trace(weft: &Running) {
    let text = metrics_in(weft, OPENMETRICS);
    let line = text.lines().find(|line| line.contains(" # ")).unwrap_or_else(|| panic!("{text}"));
    let (bucket, exemplar) = line.split_once(" # ").expect("both");
    assert!(bucket.starts_with("weft_request_duration_seconds_bucket{le=\""), "{line}");
    let (labels, rest) = exemplar.split_once(' ').expect("a value");
    assert_eq!(labels, format!("{{trace_id=\"{TRACE}\"}}"));
    let words: Vec<f64> = rest.split(' ').map(|word| word.parse().expect("a number")).collect();
    let bound = bucket.split('"').nth(1).expect("a bound").parse().unwrap_or(f64::INFINITY);
    let [seconds, at] = words[..] else { panic!("{line}") };
    assert!(seconds > 0.0 && seconds <= bound && at > 1.6e9, "{line}");
    assert!(!metrics_in(weft, "text/plain").contains(" # {"), "the older format has none");
}

#[test]
fn a_collector_that_speaks_tls_is_told_of_databases() {
    let (mariadb, redis) = (MariaDb::start(), Redis::start());
    let (sql, store) = (mariadb.port, redis.port);
    let pages = format!(
        "function page(): string
        {{
            $pdo = new PDO('mysql:host=127.0.0.1;port={sql};dbname=weft', 'root', '');
            $slept = $pdo->query('SELECT SLEEP(0.02)')->fetchColumn();
            $redis = new Redis();
            $redis->connect('127.0.0.1', {store});
            $redis->rawCommand('BLPOP', 'nothing', '0.02');
            return \"slept $slept\";
        }}"
    );
    for (mode, server) in in_each_mode(&pages) {
        let directory = server.directory().to_owned();
        let collector = Collector::with_tls(&directory);
        let authorities = directory.join("ca.pem").display().to_string();
        let server = server.with_variable("SSL_CERT_FILE", &authorities).with("--workers", "1");
        let mut weft = server.with("--trace-url", &collector.url).start();
        assert_eq!(weft.get("/").text(), "slept 0", "{mode}");
        weft.signal(Signal::TERM);
        assert!(weft.wait().success(), "{mode}: {}", weft.log());
        let mut spans = Vec::new();
        while let Ok(message) = collector.messages.try_recv() {
            spans.extend(spans_of(&message.body));
        }
        for (kind, port) in [("mysql", sql), ("redis", store)] {
            let longest = spans.iter().filter(|span| span["name"] == kind).max_by_key(|span| {
                let [began, ended] = times(span);
                ended - began
            });
            let longest = longest.unwrap_or_else(|| panic!("{mode}: no {kind} in {spans:?}"));
            let [began, ended] = times(longest);
            assert!(ended - began >= 15_000_000, "{mode}: {longest}");
            assert_eq!(said(longest, "network.peer.port"), port.to_string(), "{mode}");
        }
    }
}

#[test]
fn a_trace_is_recorded_if_its_client_says_so_or_the_ratio() {
    for (ratio, expected) in [("0", vec!["/yes"]), ("1", vec!["/yes", "/new", "/last"])] {
        let collector = Collector::new(&[]);
        let weft = Server::of_docroot(&[("index.php", "<?php echo 'page';")])
            .with("--trace-url", &collector.url)
            .with("--trace-ratio", ratio)
            .with("--workers", "1")
            .start();
        for (path, flags) in [("/yes", "01"), ("/no", "00")] {
            let line = format!("traceparent: 00-{TRACE}-{PARENT}-{flags}");
            weft.say(format!("GET {path} HTTP/1.1\r\nHost: a\r\n{line}\r\n\r\n"));
        }
        weft.get("/new");
        weft.get("/last");
        let mut weft = weft;
        weft.signal(Signal::TERM);
        assert!(weft.wait().success(), "{}", weft.log());
        // What is left is sent before the worker ends.
        let mut paths = Vec::new();
        while let Ok(message) = collector.messages.try_recv() {
            let spans = spans_of(&message.body);
            paths.extend(spans.iter().filter(|span| span["kind"] == 2).map(|span| said(span, "url.path")));
        }
        assert_eq!(paths, expected, "{ratio}");
    }
}

#[test]
fn a_collector_that_is_busy_is_asked_again_and_one_that_refuses_is_named() {
    let collector = Collector::new(&[503, 400]);
    let mut weft = with_admin(Server::of_docroot(&[("index.php", "<?php http_response_code(500);")]))
        .with("--trace-url", &collector.url)
        .with("--workers", "1")
        .start();
    weft.get("/first");
    weft.wait_for_log("does not take spans of traces: it answers 503");
    let php = || collector.span(|span| span["name"] == "php");
    assert_eq!(php(), php(), "the same span again");
    weft.get("/second");
    let failed = collector.server_span();
    weft.wait_for_log("takes spans of traces again");
    weft.wait_for_log("spans of traces were dropped");
    let counted = metrics(&weft);
    for name in ["weft_trace_sent_spans_total", "weft_trace_dropped_spans_total"] {
        assert!(counted[name] > 0.0, "{name}: {counted:?}");
    }
    assert_eq!((&failed["status"]["code"], said(&failed, "error.type").as_str()), (&Json::from(2), "500"));
}

#[test]
fn a_wrong_collector_is_refused_before_the_start() {
    for (value, why) in
        [("127.0.0.1:4318", "expected http://HOST:4318"), ("http://me:secret@collector", "set trace.headers")]
    {
        let mut weft = Server::new("return fn () => '';").with("--trace-url", value).spawn();
        assert!(!weft.wait().success());
        weft.wait_for_log(why);
        let log = weft.log();
        assert!(log.contains("--trace-url: ") && !log.contains("secret"), "{log}");
    }
}

#[test]
fn in_development_an_answer_says_where_its_time_went() {
    for (mode, server) in in_each_mode(PAGES) {
        let peer = peer();
        let weft = server.with("--mode", "development").start();
        let timing = weft.get(&format!("/asks/{peer}"));
        let timing = timing.header("Server-Timing").unwrap_or_else(|| panic!("{mode}: no field")).to_owned();
        let parts: Vec<&str> = timing.split(", ").collect();
        let span = |name: &str| {
            let part = parts.iter().find_map(|part| part.strip_prefix(&format!("{name};dur=")));
            let part = part.unwrap_or_else(|| panic!("{mode}: {timing}"));
            part.split(';').next().expect("a number").parse::<f64>().expect("a number")
        };
        assert!(
            span("server") >= 15.0 && span("total") >= span("server") + span("php") - 0.01,
            "{mode}: {timing}"
        );
    }
    let weft = Server::new("return fn () => 'plain';").start();
    assert!(weft.get("/").header("Server-Timing").is_none());
}
