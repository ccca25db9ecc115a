//! `weft profile`: where it says that a server computes, and where its requests wait.

use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_tests::command::Output;
use weft_tests::{Running, Server, in_each_mode, weft};

use crate::admin::{address, with_admin};

/// A page burns the processor in a function of its own, another waits for an HTTP server; both by way of `page()`.
const PAGES: &str = r#"
final class Upstream
{
    public function ask(): string { return (string) file_get_contents(getenv('UPSTREAM')); }
}
function burn(): int
{
    for ($sum = 0, $until = hrtime(true) + 20_000_000; hrtime(true) < $until;) {
        for ($i = 0; $i < 1000; ++$i) { $sum = ($sum * 31 + $i) % 1_000_003; }
    }
    return $sum;
}
function page(string $path): string
{
    return match ($path) { '/burn' => 'burnt ' . burn(), '/wait' => (new Upstream())->ask(), default => 'done' };
}"#;

fn profile(weft_running: &Running, more: &[&str]) -> Output {
    let at = format!("admin://{}", address(weft_running));
    let arguments = [&["profile", "--seconds", "1", "--rate", "200", "--at", at.as_str()], more].concat();
    weft(weft_running.directory(), &arguments)
}

/// How many samples have a stack of which this is true.
fn samples(folded: &str, is_it: impl Fn(&[&str]) -> bool) -> u64 {
    let of_line = |line: &str| {
        let (stack, count) = line.rsplit_once(' ').expect("a stack and a count");
        let functions: Vec<_> = stack.split(';').collect();
        if is_it(&functions) { count.parse().expect("a count") } else { 0 }
    };
    folded.lines().map(of_line).sum()
}

/// A profile while one request waits for a server that does not answer, and others burn the processor one after another.
fn profile_of(server: Server, more: &[&str]) -> (Running, Output) {
    let upstream = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", upstream.local_addr().unwrap());
    let weft = with_admin(server).with_variable("UPSTREAM", &url).start();
    let mut waits = weft.connect();
    waits.get("/wait");
    let (asked, _) = upstream.accept().unwrap();
    let ended = AtomicBool::new(false);
    let output = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let answer = weft.get("/burn").text();
                assert!(answer.starts_with("burnt "), "{answer}");
            }
        });
        let output = profile(&weft, more);
        ended.store(true, Ordering::Relaxed);
        output
    });
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    drop((asked, upstream));
    waits.read();
    (weft, output)
}

#[test]
fn what_computes_and_what_waits_is_named_in_each_mode() {
    for jit in ["tracing", "off"] {
        for (mode, server) in in_each_mode(PAGES) {
            // A script that stays loaded takes one request at a time otherwise.
            let server = if mode == "resident" { server.with("--instances", "4") } else { server };
            let server = server.with("--define", &format!("opcache.jit={jit}"));
            let folded = profile_of(server, &["--folded"]).1.stdout;
            let burnt = samples(&folded, |stack| {
                stack[0] == "on-CPU" && stack.windows(2).any(|pair| pair == ["page", "burn"])
            });
            let other = samples(&folded, |stack| {
                stack[0] == "on-CPU" && stack[1] != "[weft]" && !stack.contains(&"burn")
            });
            assert!(burnt > 10 && burnt > 2 * other, "{mode}, JIT {jit}: {burnt}, {other}: {folded}");
            let waited = samples(&folded, |stack| {
                stack[0] == "off-CPU"
                    && stack.ends_with(&["page", "Upstream::ask", "file_get_contents", "[http]"])
            });
            let for_others = samples(&folded, |stack| {
                stack[0] == "off-CPU"
                    && stack[stack.len() - 1] == "[http]"
                    && !stack.contains(&"Upstream::ask")
            });
            assert!(waited > 10 && for_others == 0, "{mode}, JIT {jit}: {waited}, {for_others}: {folded}");
        }
    }
}

#[test]
fn a_profile_is_a_flame_graph_and_its_stacks() {
    let [_, _, (_, server)] = in_each_mode(PAGES);
    let (weft, output) = profile_of(server.with("--workers", "2"), &["--out", "found"]);
    assert!(output.stdout.starts_with("on-CPU: "), "{}", output.stdout);
    assert!(output.stdout.contains(" %  burn\n"), "{}", output.stdout);
    assert!(output.stdout.contains(" %  file_get_contents [http]\n"), "{}", output.stdout);
    assert!(output.stdout.ends_with("wrote found.svg and found.folded\n"), "{}", output.stdout);
    let (svg, folded) = (weft.read("found.svg"), weft.read("found.folded"));
    assert!(svg.starts_with("<svg ") && svg.contains("<title>burn: "), "{svg}");
    assert!(samples(&folded, |stack| stack.contains(&"burn")) > 10, "{folded}");
}

#[test]
fn a_server_that_does_nothing_has_an_empty_profile() {
    let weft = with_admin(Server::new("return fn ($request) => 'done';")).start();
    let output = profile(&weft, &["--folded"]);
    assert_eq!(output.code, Some(0), "{}", output.stderr);
    let of_php = samples(&output.stdout, |stack| !stack.contains(&"[weft]"));
    assert_eq!(of_php, 0, "{}", output.stdout);
}

#[test]
fn one_profile_is_taken_at_a_time_and_wrong_ones_are_refused() {
    let weft = with_admin(Server::new("return fn ($request) => 'done';")).start();
    let begin = |query: &str| {
        let mut client = weft_tests::Client::connect(address(&weft));
        client.send(format!("POST /profile?{query} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"));
        client.read()
    };
    assert_eq!((begin("seconds=0").status, begin("rate=1001").status), (400, 400));
    assert_eq!(begin("seconds=300").status, 202);
    let second = begin("seconds=1");
    assert_eq!(second.status, 409);
    assert!(
        second.text().starts_with("409 Conflict: another profile is being taken, for "),
        "{}",
        second.text()
    );
    let refused = profile(&weft, &[]);
    assert_eq!(refused.code, Some(1));
    assert!(refused.stderr.contains("has refused it: 409 Conflict: another profile"), "{}", refused.stderr);
    let said = |arguments: &[&str]| weft_tests::weft(weft.directory(), arguments).stderr;
    assert!(said(&["profile"]).contains("no server is named: give --at"));
    assert!(said(&["profile", "--seconds", "301"]).contains("from 0.05 to 300 seconds"));
    assert!(said(&["profile", "--rate", "0"]).contains("--rate"));
    let missing = said(&["profile", "--at", "admin+unix:/nonexistent/admin.sock"]);
    assert!(missing.contains("no server listens at admin+unix:/nonexistent/admin.sock"), "{missing}");
}
