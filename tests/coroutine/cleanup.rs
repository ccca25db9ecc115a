//! However a request with tasks ends, its tasks end too: by exit, by a deadline, or with its worker.

use weft_tests::{Server, until};

/// A task that reports its begin and its end, and a body that ends as the request says.
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
            while (!file_exists("$how-one-begun") || !file_exists("$how-two-begun")) {
                usleep(500);
            }
            match ($how) {
                'exit' => exit('left'),
                'fatal' => eval('interface Twice {} class Broken implements Twice, Twice {}'),
                'task-fatal' => $scope->go(fn () => eval('interface Again {} class Worse implements Again, Again {}')) && sleep(300),
                'task-exit' => $scope->go(fn () => exit('ends the task alone')) && usleep(2000) || $scope->cancel(),
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
    for (how, status, body) in [
        ("return", 200, "returned"),
        ("task-exit", 200, "returned"),
        ("throw", 500, "Internal Server Error\n"),
        ("exit", 200, "left"),
    ] {
        let response = weft.get(&format!("/?how={how}"));
        assert_eq!((response.status, response.text().as_str()), (status, body));
        expect_end(&weft, how);
    }
}

#[test]
fn tasks_end_when_a_fatal_error_ends_their_request_or_one_of_them() {
    let mut weft = Server::new(APPLICATION).start();
    assert_eq!(weft.get("/?how=task-fatal").status, 500);
    weft.wait_for_log(
        "Uncaught Error: A fatal error ended a task of the scope: Class Worse cannot implement",
    );
    expect_end(&weft, "task-fatal");
    assert_eq!(weft.get("/?how=fatal").status, 500);
    expect_end(&weft, "fatal");
    assert_eq!(weft.get("/?how=return").text(), "returned");
}

#[test]
fn tasks_end_when_their_request_runs_too_long() {
    // Long enough for the tasks to begin.
    let weft = Server::new(APPLICATION).with("--request-timeout-ms", "2000").start();
    assert_eq!(weft.get("/?how=wait").status, 504);
    expect_end(&weft, "wait");
    assert_eq!(weft.get("/?how=return").text(), "returned");
}

#[test]
fn a_draining_worker_does_not_wait_for_tasks_forever() {
    let app = r#"Weft\go(function () { foreach (new Weft\Channel() as $never) { echo $never; } });
        return function ($r) { Weft\go(sleep(...), 300); return 'started'; };"#;
    let mut weft = Server::new(app).start();
    assert_eq!(weft.get("/").text(), "started");
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
}

#[test]
fn a_command_ends_with_the_request_that_ran_too_long_for_it() {
    let app = r#"return function ($r) {
            return match ($r->path()) {
                '/exec' => exec('echo $$ > exec; sleep 300'),
                '/shell' => shell_exec('echo $$ > shell; exec sleep 300'),
                '/popen' => fgets(popen('echo $$ > popen; exec sleep 300', 'r')),
                default => exec('echo quick'), // runs after the processes before it
            };
        };"#;
    // With "0" the error keeps the arguments of the calls that it has left, such as the stream of popen().
    for setting in ["0", "1"] {
        let setting = format!("zend.exception_ignore_args={setting}");
        let server = Server::new(app).with("--request-timeout-ms", "2000").with("--define", &setting);
        the_commands_end(&server.start());
    }
}

fn the_commands_end(weft: &weft_tests::Running) {
    let commands = ["exec", "shell", "popen"];
    let mut clients: Vec<_> = commands.iter().map(|_| weft.connect()).collect();
    for (client, command) in clients.iter_mut().zip(commands) {
        client.get(&format!("/{command}"));
    }
    for client in &mut clients {
        assert_eq!(client.read().status, 504);
    }
    for command in commands {
        let pid = weft.read(command).trim().parse::<u32>().expect("the command has written its number");
        until(&format!("the end of {command}"), || {
            assert_eq!(weft.get("/").text(), "quick");
            (!std::path::Path::new(&format!("/proc/{pid}")).exists()).then_some(())
        });
    }
}

#[test]
fn a_lock_that_is_held_for_a_function_is_free_after_exit() {
    let application = r#"$mutex = new Weft\Mutex();
        $semaphore = new Weft\Semaphore(1);
        return fn ($r) => match ($r->path()) {
            '/mutex' => $mutex->synchronized(fn () => exit('left')),
            '/semaphore' => $semaphore->with(fn () => exit('left')),
            default => ($mutex->locked() ? 'locked ' : 'free ') . $semaphore->free(),
        };"#;
    let weft = Server::new(application).start();
    for _ in 0..2 {
        assert_eq!(weft.get("/mutex").text(), "left");
        assert_eq!(weft.get("/semaphore").text(), "left");
        assert_eq!(weft.get("/").text(), "free 1");
    }
}
