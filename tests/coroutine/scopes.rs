//! Tasks, scopes, channels and locks in handlers, a hundred requests at once.

use serde_json::json;
use weft_tests::Server;

use crate::at_once;

#[test]
fn a_hundred_requests_each_with_a_scope_of_tasks_that_wait_together() {
    let app = r#"use Weft\Scope;
        $waiting = 0;
        return function ($r) use (&$waiting) {
            $n = (int) $r->query('n');
            return json_encode(Scope::run(function (Scope $scope) use ($n, &$waiting) {
                $tasks = [];
                foreach (range(1, 5) as $i) {
                    $tasks[] = $scope->go(function () use ($n, $i, &$waiting) {
                        $waiting++;
                        while ($waiting < 500) { usleep(1_000); } // would never end if the requests ran one after another
                        return $n * $i;
                    });
                }
                return array_map(fn ($task) => $task->await(), $tasks);
            }));
        };"#;
    let weft = Server::new(app).start();
    for (n, response) in at_once(&weft, 100, |n| format!("/?n={n}")).iter().enumerate() {
        assert_eq!(response.json(), json!([n, n * 2, n * 3, n * 4, n * 5]));
    }
}

#[test]
fn failures_limits_races_and_timeouts_stay_in_their_request() {
    let app = r#"use Weft\Scope;
        use function Weft\{parallel, race};
        return function ($r) {
            $n = (int) $r->query('n');
            try {
                return match ($n % 5) {
                    0 => Scope::run(function (Scope $scope) use ($n) {
                        $scope->go(sleep(...), 30);
                        $scope->go(function () use ($n) { usleep(500); throw new DomainException("failed $n"); });
                        sleep(30);
                    }),
                    1 => race([fn () => sleep(30), function () use ($n) { usleep(500); return "won $n"; }]),
                    2 => implode(',', parallel(array_map(fn ($i) => function () use ($n, $i) { usleep(100); return $n + $i; }, [1, 2, 3]), concurrency: 2)),
                    3 => Scope::run(fn (Scope $scope) => $scope->go(sleep(...), 30)->await(), timeout: 0.005),
                    4 => Scope::run(fn (Scope $outer) => $outer->go(fn () => Scope::run(fn (Scope $inner) => $inner->go(fn () => "deep $n")->await()))->await()),
                };
            } catch (DomainException $failure) {
                return $failure->getMessage();
            } catch (Weft\TimeoutException) {
                return "late $n";
            }
        };"#;
    let mut weft = Server::new(app).start();
    for _ in 0..3 {
        for (n, response) in at_once(&weft, 100, |n| format!("/?n={n}")).iter().enumerate() {
            let expected = match n % 5 {
                0 => format!("failed {n}"),
                1 => format!("won {n}"),
                2 => format!("{},{},{}", n + 1, n + 2, n + 3),
                3 => format!("late {n}"),
                _ => format!("deep {n}"),
            };
            assert_eq!((response.status, response.text()), (200, expected));
        }
    }
    assert!(!weft.log().contains("Uncaught"), "{}", weft.log());
    assert!(weft.is_alive());
}

#[test]
fn a_failure_that_the_handler_does_not_catch_is_its_500_and_logged_once() {
    let app = r#"return fn ($r) => Weft\Scope::run(fn ($scope) => $scope->go(fn () => throw new DomainException('in a task')) && sleep(30));"#;
    let mut weft = Server::new(app).start();
    assert_eq!(weft.get("/").status, 500);
    weft.wait_for_log("DomainException: in a task");
    assert_eq!(weft.get("/").status, 500);
    weft.wait_for_log_times("DomainException: in a task", 2);
    assert_eq!(weft.log().matches("DomainException: in a task").count(), 2, "{}", weft.log());
}

#[test]
fn requests_meet_in_channels_and_queue_at_locks() {
    let app = r#"use Weft\{Channel, Mutex, Semaphore};
        $jobs = new Channel(10);
        Weft\go(function () use ($jobs) {
            foreach ($jobs as [$n, $answer]) {
                usleep(100);
                $answer->send($n * $n);
            }
        });
        $mutex = new Mutex();
        $semaphore = new Semaphore(3);
        $count = $inside = $most = 0;
        return function ($r) use ($jobs, $mutex, $semaphore, &$count, &$inside, &$most) {
            if ($r->path() === '/total') { return "$count $most"; }
            $semaphore->with(function () use (&$inside, &$most) {
                $most = max($most, ++$inside);
                usleep(200);
                $inside--;
            });
            $mutex->synchronized(function () use (&$count) {
                $before = $count;
                usleep(100);
                $count = $before + 1;
            });
            $answer = new Channel();
            $jobs->send([(int) $r->query('n'), $answer]);
            return (string) $answer->receive(30.0);
        };"#;
    let weft = Server::new(app).start();
    for (n, response) in at_once(&weft, 100, |n| format!("/?n={n}")).iter().enumerate() {
        assert_eq!(response.text(), (n * n).to_string());
    }
    assert_eq!(weft.get("/total").text(), "100 3");
}

#[test]
fn a_timer_of_the_booted_application_ticks_while_it_serves_and_does_not_delay_the_end() {
    let app = r#"$ticks = 0;
        Weft\Timer::every(0.002, function () use (&$ticks) {
            if (++$ticks === 2) { throw new RuntimeException('second tick'); }
        });
        return function () use (&$ticks) { return (string) $ticks; };"#;
    let mut weft = Server::new(app).start();
    weft_tests::until("some ticks", || (weft.get("/").text().parse::<u32>().ok()? > 5).then_some(()));
    weft.wait_for_log(
        "the callback of Timer::every() failed and nobody can catch it: RuntimeException: second tick",
    );
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
}

#[test]
fn signals_are_not_awaited_in_a_server() {
    let app = r#"return function () { try { Weft\Signal::await(SIGUSR1); } catch (LogicException $e) { return $e->getMessage(); } };"#;
    let weft = Server::new(app).start();
    assert_eq!(weft.get("/").text(), "Signal::await() is for scripts: in a server, signals are weft's own");
}
