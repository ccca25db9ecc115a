//! What a site may use: the size of bodies, the time of requests, places in a worker; and its own access log.

use std::thread;

use weft_tests::{Running, Server, until};

use crate::{get, server};

const FILES: [(&str, &str); 6] = [
    ("one/index.php", "<?php echo strlen(file_get_contents('php://input'));"),
    ("two/index.php", "<?php echo strlen(file_get_contents('php://input'));"),
    ("one/sleep.php", "<?php touch(__DIR__ . '/began'); sleep(600);"),
    ("one/spin.php", "<?php for (;;) { md5('a'); }"),
    ("two/sleep.php", "<?php usleep((int) $_GET['us']); echo 'slept';"),
    (
        "two/hold.php",
        "<?php touch(__DIR__ . \"/here-$_GET[n]\"); while (!file_exists(__DIR__ . '/go')) { usleep(2000); } echo 'held';",
    ),
];

fn sites(one: &str, two: &str) -> Server {
    let text = format!(
        "[limits]\nbody_bytes_max = 1000\n[[site]]\nnames = [\"one.example\"]\nroot = \"one\"\n{one}\n\
         [[site]]\nnames = [\"two.example\"]\nroot = \"two\"\n{two}\n"
    );
    server(&text, &FILES)
}

fn post(weft: &Running, host: &str, length: usize, chunked: bool) -> (u16, String) {
    let body = "x".repeat(length);
    let (field, body) = if chunked {
        ("Transfer-Encoding: chunked".to_owned(), format!("{length:x}\r\n{body}\r\n0\r\n\r\n"))
    } else {
        (format!("Content-Length: {length}"), body)
    };
    let response = weft.say(format!("POST /index.php HTTP/1.1\r\nHost: {host}\r\n{field}\r\n\r\n{body}"));
    (response.status, response.text())
}

#[test]
fn a_body_is_as_long_as_the_site_allows() {
    let rule = "body_bytes_max = \"2KiB\"\n[[site.rule]]\npath = \"/none\"\nbody_bytes_max = 0";
    let weft = sites(rule, "").start();
    for chunked in [false, true] {
        assert_eq!(post(&weft, "one.example", 2048, chunked), (200, "2048".into()));
        assert_eq!(post(&weft, "one.example", 2049, chunked).0, 413);
        assert_eq!(post(&weft, "two.example", 1000, chunked), (200, "1000".into()));
        assert_eq!(post(&weft, "two.example", 1001, chunked).0, 413);
    }
}

#[test]
fn a_request_runs_as_long_as_its_site_allows() {
    let weft = sites("request_timeout_ms = 1000", "").start();
    assert_eq!(get(&weft, "one.example", "/sleep.php").status, 504, "one that waits");
    assert_eq!(get(&weft, "one.example", "/spin.php").status, 504, "one that computes");
    assert_eq!(get(&weft, "two.example", "/sleep.php?us=2500000").text(), "slept");
}

#[test]
fn phps_own_limits_are_the_sites() {
    let weft =
        sites("[site.admin_ini]\nmax_execution_time = 1\nmemory_limit = \"8M\"", "").with("--instances", "1");
    let large = "<?php echo strlen(str_repeat('x', 20 << 20));";
    let weft = weft.with_file("one/large.php", large).with_file("two/large.php", large).start();
    for _ in 0..2 {
        assert_eq!(get(&weft, "one.example", "/spin.php").status, 500);
        assert_eq!(get(&weft, "one.example", "/large.php").status, 500);
        assert_eq!(get(&weft, "two.example", "/large.php").text(), (20 << 20).to_string());
        assert_eq!(get(&weft, "two.example", "/sleep.php?us=1500000").text(), "slept");
    }
    assert!(weft.log().contains("Maximum execution time of 1 second exceeded"), "{}", weft.log());
}

#[test]
fn a_site_has_its_share_of_a_worker() {
    let weft = sites("", "shares = [\"path / 2\"]").with("--queue-timeout-ms", "100000").start();
    let weft = &weft;
    thread::scope(|scope| {
        for n in 0..5 {
            scope.spawn(move || {
                assert_eq!(get(weft, "two.example", &format!("/hold.php?n={n}")).text(), "held");
            });
        }
        let here = || (0..5).filter(|n| weft.path(&format!("two/here-{n}")).exists()).count();
        until("two of them", || (here() == 2).then_some(()));
        for _ in 0..20 {
            assert_eq!(post(weft, "one.example", 3, false), (200, "3".into()), "the other site goes on");
        }
        assert_eq!(here(), 2, "no more of it began");
        weft.write("two/go", "");
    });
}

#[test]
fn a_site_has_its_own_access_log() {
    let text = "[log]\naccess_log = \"all.log\"\n[[site]]\nnames = [\"one.example\"]\nroot = \"one\"\naccess_log = \"one.log\"\n\
                [[site]]\nnames = [\"two.example\"]\nroot = \"two\"\n[[site]]\nnames = [\"off.example\"]\nroot = \"two\"\naccess_log = \"off\"\n\
                [[site]]\nnames = [\"too.example\"]\nroot = \"two\"\naccess_log = \"one.log\"\n";
    let mut weft = server(text, &FILES).start();
    let paths = |name: &str, weft: &Running| -> Vec<String> {
        let log = weft.read(name);
        let path = |line: &str| line.split(' ').nth(6).map(str::to_owned);
        log.lines().filter_map(path).collect()
    };
    for (host, path) in [
        ("one.example", "/index.php?1"),
        ("two.example", "/index.php?2"),
        ("off.example", "/index.php?3"),
        ("none.example", "/index.php?4"),
        ("too.example", "/index.php?5"),
    ] {
        get(&weft, host, path);
    }
    until("both logs", || {
        (paths("one.log", &weft) == ["/index.php?1", "/index.php?5"]
            && paths("all.log", &weft) == ["/index.php?2", "/index.php?4"])
        .then_some(())
    });
    assert!(weft.read("all.log").lines().next().is_some_and(|line| line.ends_with(" two.example")));
    // Rotated, as by logrotate.
    std::fs::rename(weft.path("one.log"), weft.path("one.log.1")).expect("it exists");
    weft.signal(rustix::process::Signal::USR1);
    until("the new log", || weft.path("one.log").exists().then_some(()));
    get(&weft, "one.example", "/index.php?6");
    until("its line", || (paths("one.log", &weft) == ["/index.php?6"]).then_some(()));
    assert!(weft.is_alive());
}

#[test]
fn a_json_log_names_the_site() {
    let text = "[log]\naccess_log = \"all.log\"\naccess_log_format = \"json\"\n\
                [[site]]\nnames = [\"*.one.example\"]\nroot = \"one\"\n";
    let weft = server(text, &FILES).start();
    get(&weft, "x.one.example", "/");
    get(&weft, "none.example", "/");
    until("two lines", || (weft.read("all.log").lines().count() == 2).then_some(()));
    let log = weft.read("all.log");
    let sites: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["site"].clone())
        .collect();
    assert_eq!(sites, [serde_json::Value::from("*.one.example"), serde_json::Value::Null]);
}
