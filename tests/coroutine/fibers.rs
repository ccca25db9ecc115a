//! Fibers of user code in handlers: each case of fibers.php prints the same in many requests at once as under php.

use std::process::Command;

use weft_tests::{Server, command};

use crate::at_once;

/// How often each case runs at the same time.
const TIMES: usize = 8;

const APPLICATION: &str = r#"$cases = require 'fibers.php';
    return function ($r) use ($cases) { array_values($cases)[(int) $r->query('case')](); };"#;

fn server() -> Server {
    Server::new(APPLICATION).with_file("fibers.php", include_str!("fibers.php"))
}

/// The output of each case under php, by name.
fn expected() -> Vec<(String, String)> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("fibers.php");
    std::fs::write(&file, include_str!("fibers.php")).expect("our own file");
    let code = "foreach (require $argv[1] as $name => $case) { ob_start(); $case(); $said[] = [$name, ob_get_clean()]; }
        echo json_encode($said);";
    let mut php = Command::new("php");
    php.args(["-d", "display_errors=0", "-r", code, "--"]).arg(&file);
    let output = command::finish(&mut php);
    serde_json::from_str(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}{}", output.stdout, output.stderr))
}

#[test]
fn each_case_does_in_a_handler_what_it_does_under_php() {
    let expected = expected();
    assert!(expected.len() > 20, "the cases were not read");
    assert!(expected.iter().all(|(name, said)| said.len() > 4 || panic!("{name} writes nothing")));
    let weft = server().start();
    let responses = at_once(&weft, expected.len() * TIMES, |i| format!("/?case={}", i % expected.len()));
    for (i, response) in responses.iter().enumerate() {
        let (name, said) = &expected[i % expected.len()];
        assert_eq!((response.status, &response.text()), (200, said), "{name}");
    }
    assert!(!weft.log().contains("Uncaught"), "{}", weft.log());
}

#[test]
fn exit_in_a_nested_fiber_ends_only_its_request() {
    let app = r#"return function ($r) {
            $inner = new Fiber(function () use ($r) {
                usleep(500);
                if ($r->query('exit')) { echo 'left'; exit(); }
                Fiber::suspend();
            });
            $outer = new Fiber(function () use ($inner) { $inner->start(); Fiber::suspend(); $inner->resume(); });
            $outer->start();
            usleep(500);
            $outer->resume();
            return 'returned';
        };"#;
    let weft = Server::new(app).start();
    let responses = at_once(&weft, 40, |i| if i % 2 == 0 { "/?exit=1".into() } else { "/".into() });
    for (i, response) in responses.iter().enumerate() {
        let text = if i % 2 == 0 { "left" } else { "returned" };
        assert_eq!((response.status, response.text().as_str()), (200, text));
    }
}

#[test]
fn an_exception_of_a_nested_fiber_is_the_requests_failure() {
    let app = r#"return function ($r) {
            $fiber = new Fiber(function () { Fiber::suspend(); throw new DomainException('out of a fiber'); });
            $fiber->start();
            usleep(500);
            $fiber->resume();
        };"#;
    let mut weft = Server::new(app).start();
    assert_eq!(weft.get("/").status, 500);
    weft.wait_for_log("Uncaught DomainException: out of a fiber in ");
    assert_eq!(weft.get("/").status, 500);
}

#[test]
fn a_fiber_may_be_left_by_one_request_and_resumed_by_another() {
    let app = r#"return function ($r) {
            static $fibers = [];
            $name = $r->query('name');
            if ($r->path() === '/start') {
                $fibers[$name] = new Fiber(function () use ($name) {
                    usleep(300);
                    $other = Fiber::suspend("$name is suspended");
                    usleep(300);
                    return "$name was told $other";
                });
                return $fibers[$name]->start();
            }
            $fibers[$name]->resume($r->query('tell'));
            $said = $fibers[$name]->getReturn();
            unset($fibers[$name]);
            return $said;
        };"#;
    let weft = Server::new(app).start();
    for (i, response) in at_once(&weft, 30, |i| format!("/start?name=f{i}")).iter().enumerate() {
        assert_eq!(response.text(), format!("f{i} is suspended"));
    }
    for (i, response) in at_once(&weft, 30, |i| format!("/resume?name=f{i}&tell=t{i}")).iter().enumerate() {
        assert_eq!(response.text(), format!("f{i} was told t{i}"));
    }
}

#[test]
fn fibers_in_shutdown_functions_and_unfinished_ones_at_the_end_of_a_request() {
    let app = r#"return function ($r) {
            $n = $r->query('n');
            $unfinished = new Fiber(function () use ($n) {
                try { Fiber::suspend(); } finally { file_put_contents("unwound-$n", 'yes'); }
            });
            $unfinished->start();
            register_shutdown_function(function () use ($n) {
                $fiber = new Fiber(function () { usleep(300); return 1 + Fiber::suspend(1); });
                $one = $fiber->start();
                usleep(300);
                $fiber->resume($one);
                file_put_contents("shutdown-$n", $fiber->getReturn());
            });
            return 'done';
        };"#;
    let weft = Server::new(app).start();
    for response in at_once(&weft, 20, |i| format!("/?n={i}")) {
        assert_eq!(response.text(), "done");
    }
    for n in 0..20 {
        weft_tests::until("the shutdown function and the finally block", || {
            (weft.read(&format!("shutdown-{n}")) == "2" && weft.read(&format!("unwound-{n}")) == "yes")
                .then_some(())
        });
    }
}
