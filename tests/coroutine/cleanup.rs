//! However a request with tasks ends, its tasks end too: by exit, by a deadline, with its worker.

use weft_tests::{Server, until};

/// A task that says when it has begun and when it has ended, and a body that ends as it is told.
const APPLICATION: &str = r#"use Weft\Scope;
    function task(string $name): void {
        file_put_contents("$name-begun", 'yes');
        try {
            sleep(300);
        } finally {
            usleep(500); // cleaning up may wait
            file_put_contents("$name-ended", 'yes');
        }
    }
    return function ($r) {
        $how = $r->query('how');
        Scope::run(function (Scope $scope) use ($how) {
            $scope->go(task(...), "$how-one");
            $scope->go(fn () => Scope::run(fn (Scope $inner) => $inner->go(task(...), "$how-two")));
            usleep(2000);
            match ($how) {
                'exit' => exit('left'),
                'fatal' => eval('class Broken implements Missing {} $x ='),
                'throw' => throw new DomainException('thrown'),
                'return' => $scope->cancel(),
                'wait' => sleep(300),
            };
        });
        return 'returned';
    };"#;

fn expect_end(weft: &weft_tests::Running, how: &str) {
    for name in ["one", "two"] {
        assert_eq!(weft.read(&format!("{how}-{name}-begun")), "yes", "{how}: task {name} never began");
        until("the tasks' end", || (weft.read(&format!("{how}-{name}-ended")) == "yes").then_some(()));
    }
}

#[test]
fn tasks_end_when_their_request_returns_throws_or_exits() {
    let weft = Server::new(APPLICATION).start();
    for (how, status, body) in
        [("return", 200, "returned"), ("throw", 500, "Internal Server Error\n"), ("exit", 200, "left")]
    {
        let response = weft.get(&format!("/?how={how}"));
        assert_eq!((response.status, response.text().as_str()), (status, body));
        expect_end(&weft, how);
    }
}

#[test]
fn tasks_end_when_their_request_runs_too_long() {
    let weft = Server::new(APPLICATION).with("--request-timeout-ms", "100").start();
    assert_eq!(weft.get("/?how=wait").status, 504);
    expect_end(&weft, "wait");
    assert_eq!(weft.get("/?how=return").text(), "returned");
}

#[test]
fn a_worker_that_drains_does_not_wait_for_tasks_for_ever() {
    let app = r#"Weft\go(function () { foreach (new Weft\Channel() as $never) { echo $never; } });
        return function ($r) { Weft\go(sleep(...), 300); return 'started'; };"#;
    let mut weft = Server::new(app).start();
    assert_eq!(weft.get("/").text(), "started");
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
}
