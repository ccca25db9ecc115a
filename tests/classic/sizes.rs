//! Pages that are known to compute for long begin one after the other, and that keeps nobody from ending.

use std::thread;

use weft_tests::{Running, Server, until};

use crate::ask;

/// Computes for some ten milliseconds; with `all`, until as many such requests have begun.
const LONG: &str = r#"<?php
function compute(): void { for ($i = 0, $sum = 0; $i < 1000000; $i++) { $sum = ($sum * 31 + $i) & 0xffffff; } }
touch(__DIR__ . '/begun-' . ($_GET['me'] ?? ''));
do {
    compute();
    clearstatcache();
} while (!is_file(__DIR__ . '/stop') && count(glob(__DIR__ . '/begun-?*')) < ($_GET['all'] ?? 0));
echo 'computed';
"#;

/// A worker that knows by eight requests that the page computes for long.
fn server() -> Running {
    let weft = Server::of_docroot(&[("long.php", LONG), ("light.php", "<?php echo 'light';")])
        .with("--instances", "8")
        .with("--define", "opcache.jit=disable")
        .start();
    for _ in 0..8 {
        assert_eq!(ask(&weft, "GET", "/long.php", "").text(), "computed");
    }
    weft
}

#[test]
fn requests_that_wait_for_each_other_by_computing_all_begin() {
    let weft = server();
    thread::scope(|scope| {
        let asked = (1..=6).map(|me| {
            let weft = &weft;
            scope.spawn(move || ask(weft, "GET", &format!("/long.php?all=6&me={me}"), ""))
        });
        for request in asked.collect::<Vec<_>>() {
            assert_eq!(request.join().expect("a response").text(), "computed");
        }
    });
}

#[test]
fn a_light_page_passes_those_that_are_held_back() {
    let weft = server();
    thread::scope(|scope| {
        let asked = (1..=6).map(|me| {
            let weft = &weft;
            scope.spawn(move || ask(weft, "GET", &format!("/long.php?all=7&me={me}"), ""))
        });
        let asked: Vec<_> = asked.collect();
        until("one to compute", || (1..=6).find(|me| weft.path(&format!("public/begun-{me}")).exists()));
        for _ in 0..5 {
            assert_eq!(ask(&weft, "GET", "/light.php", "").text(), "light");
        }
        weft.write("public/stop", "");
        for request in asked {
            assert_eq!(request.join().expect("a response").text(), "computed");
        }
    });
}
