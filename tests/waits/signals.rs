//! Signals of a worker's application: handlers run at once, also while every coroutine waits.

use rustix::process::Signal;
use weft_tests::{Server, process, until};

#[test]
fn a_handler_installed_at_boot_runs_while_all_requests_wait_and_ends_none_of_their_sleeps() {
    let running = Server::new(
        r#"pcntl_async_signals(true);
        pcntl_signal(SIGALRM, function () { file_put_contents(__DIR__ . '/signals', 'x', FILE_APPEND); });
        return function (Weft\Http\Request $request): string {
            file_put_contents(__DIR__ . '/waits', 'x', FILE_APPEND);
            $left = 0;
            while (!file_exists(__DIR__ . '/enough')) {
                $left += sleep(1);
            }
            return "left $left";
        };"#,
    )
    .start();
    let mut clients = [running.connect(), running.connect()];
    clients.iter_mut().for_each(|client| client.get("/"));
    until("both requests to wait", || (running.read("waits") == "xx").then_some(()));
    process::signal(running.workers()[0], Signal::ALARM);
    until("the handler", || (running.read("signals") == "x").then_some(()));
    process::signal(running.workers()[0], Signal::ALARM);
    until("the handler, again", || (running.read("signals") == "xx").then_some(()));
    running.write("enough", "");
    for client in &mut clients {
        assert_eq!(client.read().text(), "left 0");
    }
}

#[test]
fn a_handler_that_a_request_installed_interrupts_its_own_wait_only() {
    let running = Server::new(
        r#"pcntl_async_signals(true);
        return function (Weft\Http\Request $request): string {
            if ($request->path() === '/owner') {
                pcntl_signal(SIGALRM, function () use (&$seen) { $seen = true; });
            }
            file_put_contents(__DIR__ . '/waits', 'x', FILE_APPEND);
            $left = $request->path() === '/owner' ? sleep(20) : sleep(2);
            pcntl_signal(SIGALRM, SIG_DFL);
            return ($left > 0 ? 'interrupted' : 'slept') . (isset($seen) ? ', handled' : '');
        };"#,
    )
    .start();
    let mut clients = [running.connect(), running.connect()];
    clients[0].get("/owner");
    clients[1].get("/other");
    until("both requests to wait", || (running.read("waits") == "xx").then_some(()));
    process::signal(running.workers()[0], Signal::ALARM);
    assert_eq!(clients[0].read().text(), "interrupted, handled");
    assert_eq!(clients[1].read().text(), "slept");
}

#[test]
fn an_exception_of_a_handler_that_interrupts_nobody_goes_to_the_log() {
    let mut running = Server::new(
        r#"pcntl_async_signals(true);
        pcntl_signal(SIGALRM, function () { throw new RuntimeException('nobody to interrupt'); });
        return fn (): string => 'alive';"#,
    )
    .start();
    process::signal(running.workers()[0], Signal::ALARM);
    running.wait_for_log("nobody to interrupt");
    assert_eq!(running.get("/").text(), "alive");
}
