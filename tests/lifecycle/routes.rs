//! Figures by route: what a route is called, what is counted of it, and that there are never too many.

use std::collections::HashMap;

use rustix::process::Signal;
use weft_tests::{Running, Server, in_each_mode, process, until};

use crate::admin::{ask, metrics, with_admin};

const PAGES: &str = "
function page(string $path): string
{
    if (str_starts_with($path, '/slow')) { usleep(2000); }
    if (str_starts_with($path, '/busy')) { for ($i = 0, $end = hrtime(true) + 3_000_000; hrtime(true) < $end; $i++); }
    if (str_contains($path, 'missing')) { http_response_code(404); }
    return 'the page';
}";

/// In coroutine mode a response has its status itself.
const APPLICATION: &str = "return static function (Weft\\Http\\Request $request) {
    $status = str_contains($request->path(), 'missing') ? 404 : 200;
    return new Weft\\Http\\Response('the page', $status);
};";

/// The sum of a route's samples of a family.
fn of(seen: &HashMap<String, f64>, family: &str, route: &str) -> f64 {
    let begin = format!("{family}{{route=\"{route}\"");
    seen.iter().filter(|(name, _)| name.starts_with(&begin)).map(|(_, value)| value).sum()
}

fn answers(weft: &Running, route: &str) -> f64 {
    of(&metrics(weft), "weft_route_answers_total", route)
}

#[test]
fn requests_are_counted_by_route() {
    for (mode, server) in in_each_mode(PAGES) {
        let weft = with_admin(server).start();
        for path in ["/", "/slow/1", "/slow/2", "/slow/3?x=/y/z", "/busy", "/busy"] {
            assert_eq!(weft.get(path).text(), "the page", "{mode}");
        }
        let seen = metrics(&weft);
        let all = |family: &str| -> f64 {
            seen.iter().filter(|(name, _)| name.starts_with(family)).map(|(_, value)| value).sum()
        };
        assert_eq!((all("weft_answers_total"), all("weft_route_answers_total")), (6.0, 6.0), "{mode}");
        assert_eq!(seen["weft_request_duration_seconds_count"], 6.0, "{mode}: each is counted once");
        let count = |route: &str| of(&seen, "weft_route_answers_total", route);
        if mode == "classic" {
            assert_eq!(count("/index.php"), 6.0, "{mode} {seen:?}");
            assert!(of(&seen, "weft_route_wait_seconds_total", "/index.php") >= 0.001, "{mode}");
            assert!(of(&seen, "weft_route_run_seconds_total", "/index.php") > 0.0, "{mode}");
            continue;
        }
        assert_eq!([count("/"), count("/slow/*"), count("/busy")], [1.0, 3.0, 2.0], "{mode} {seen:?}");
        // The first request was the other routes' until it had succeeded.
        let waited = seen["weft_route_wait_seconds_total{route=\"/slow/*\",kind=\"sleep\"}"];
        assert!(waited >= 0.001, "{mode} {waited}");
        assert!(seen["weft_route_run_seconds_total{route=\"/busy\"}"] > 0.0, "{mode}");
        assert!(seen["weft_run_seconds_total"] > 0.0, "{mode}");
        let bucket = "weft_route_request_duration_seconds_bucket{route=\"/busy\",le=\"+Inf\"}";
        assert_eq!(seen[bucket], 2.0, "{mode}");
        assert!(of(&seen, "weft_route_request_duration_seconds_sum", "/busy") > 0.0, "{mode}");
    }
}

#[test]
fn the_same_is_in_the_status() {
    let weft = with_admin(Server::new(APPLICATION)).start();
    for path in ["/users/1", "/users/2", "/users/missing"] {
        weft.get(path);
    }
    let status = ask(&weft, "/status", None).json();
    let route = status["routes"].as_array().unwrap().iter().find(|route| route["route"] == "/users/*");
    let route = route.unwrap_or_else(|| panic!("{status:#}"));
    assert_eq!((&route["requests"], &route["answers"]["2xx"]), (&3.into(), &2.into()));
    assert_eq!(route["answers"]["4xx"], 1);
    assert!(route["run_ms"].as_f64().unwrap() > 0.0 && route["duration_sum_ms"].as_f64().unwrap() > 0.0);
}

#[test]
fn what_an_attacker_asks_for_becomes_no_route() {
    let weft = with_admin(Server::new(APPLICATION)).start();
    let mut client = weft.connect();
    for number in 0..300 {
        client.get(&format!("/missing-{number}/x"));
        assert_eq!(client.read().status, 404);
    }
    let seen = metrics(&weft);
    assert_eq!(of(&seen, "weft_route_answers_total", "other"), 300.0);
    assert_eq!(seen["weft_route_answers_total{route=\"other\",class=\"4xx\"}"], 300.0);
    assert!(!seen.keys().any(|name| name.contains("route=\"/")), "{seen:?}");
}

#[test]
fn there_are_never_more_routes_than_the_table_holds() {
    let weft = with_admin(Server::new(APPLICATION)).with("--workers", "2").start();
    let mut clients: Vec<_> = (0..4).map(|_| weft.connect()).collect();
    for number in 0..300 {
        let client = &mut clients[number % 4];
        client.get(&format!("/page-{number}"));
        assert_eq!(client.read().status, 200);
    }
    let seen = metrics(&weft);
    let family = "weft_route_request_duration_seconds_count";
    let counts: Vec<_> = seen.iter().filter(|(name, _)| name.starts_with(family)).collect();
    assert_eq!(counts.len(), 128, "127 with a name, and the others");
    assert_eq!(counts.iter().map(|(_, count)| **count).sum::<f64>(), 300.0);
}

#[test]
fn the_operator_may_name_routes_by_patterns() {
    let weft = with_admin(Server::new(APPLICATION))
        .with("--admin-routes", "/api/*/items")
        .with("--admin-routes", "/api/**")
        .start();
    for path in ["/api/1/items", "/api/2/items", "/api/2/missing", "/api"] {
        weft.get(path);
    }
    assert_eq!(answers(&weft, "/api/*/items"), 2.0);
    assert_eq!(answers(&weft, "/api/**"), 2.0);
}

#[test]
fn files_are_a_route_of_their_own() {
    let pages = [("index.php", "<?php echo 'a page';"), ("style.css", "a {}"), ("b.php", "<?php echo 'b';")];
    let weft = with_admin(Server::of_docroot(&pages)).start();
    for path in ["/", "/style.css", "/style.css", "/b.php?x"] {
        assert_eq!(weft.get(path).status, 200);
    }
    assert_eq!(
        [answers(&weft, "/index.php"), answers(&weft, "/b.php"), answers(&weft, "files")],
        [1.0, 1.0, 2.0]
    );
}

#[test]
fn what_answers_beside_files_is_a_route_of_its_own() {
    let server = Server::new(APPLICATION);
    std::fs::create_dir(server.directory().join("public")).unwrap();
    std::fs::write(server.directory().join("public/style.css"), "a {}").unwrap();
    let weft = with_admin(server).with("--files", "public").start();
    for path in ["/style.css", "/users/1", "/users/2"] {
        assert_eq!(weft.get(path).status, 200, "{path}");
    }
    assert_eq!([answers(&weft, "files"), answers(&weft, "/users/*")], [1.0, 2.0]);
}

#[test]
fn the_figures_of_routes_outlive_the_worker_that_counted() {
    let mut weft = with_admin(Server::new(APPLICATION)).with("--workers", "1").start();
    for _ in 0..7 {
        weft.get("/a");
    }
    assert_eq!(answers(&weft, "/a"), 7.0);
    process::signal(weft.workers()[0], Signal::KILL);
    weft.wait_for_log("was killed by signal 9");
    until("another worker to be ready", || {
        let client = weft_tests::Client::try_connect(crate::admin::address(&weft)).is_ok();
        (client && metrics(&weft)["weft_workers{stage=\"ready\"}"] == 1.0).then_some(())
    });
    assert_eq!(answers(&weft, "/a"), 7.0);
    weft.get("/a");
    assert_eq!(answers(&weft, "/a"), 8.0);
}

#[test]
fn a_pattern_that_no_path_can_fit_is_refused() {
    let server = Server::new(APPLICATION);
    let check = weft_tests::weft(server.directory(), &["check", "app.php", "--admin-routes", "users"]);
    let said = check.stderr;
    assert_ne!(check.code, Some(0), "{said}");
    assert!(said.contains("--admin-routes: \"users\" does not begin with a slash"), "{said}");
}
