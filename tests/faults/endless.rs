//! A script that computes without end is ended by `request_timeout_ms`, and code that cannot be ended costs its worker.

use weft_tests::{Client, Running, Server, in_each_mode};

const PAGES: &str = r#"
function page(string $path): string
{
    if (preg_match('~^/(\w+)/endless~', $path, $match)) {
        set_time_limit(0);
        $n = 0;
        switch ($match[1]) {
            case 'empty':
                while (true) {
                }
            case 'counts':
                for ($i = 0; ; $i++) {
                    $n = ($n * 31 + $i) & 0xffffff;
                }
            case 'calls':
                while (true) {
                    $n += strlen(str_repeat('x', $n & 15));
                }
            case 'recurses':
                for ($f = fn ($d) => $d > 20 ? 1 : $f($d + 1) + 1; ; ) {
                    $n += (function ($d) { return $d * 2; })($n & 7);
                }
            case 'catches':
                while (true) {
                    try {
                        while (true) {
                            $n++;
                        }
                    } catch (Throwable) {
                    }
                }
            case 'C':
                similar_text(str_repeat('ab', 50000), str_repeat('ba', 50000));
                similar_text(str_repeat('abc', 90000), str_repeat('bca', 90000));
        }
    }
    if (str_starts_with($path, '/waits')) {
        touch(__DIR__ . '/waiting' . basename($path));
        while (!is_file(__DIR__ . '/gate')) {
            usleep(3000);
            clearstatcache();
        }
    }
    return $path . ' ' . $_SERVER['REQUEST_METHOD'] . ' of ' . getmypid();
}
"#;

/// The same pages in each mode.
fn servers(timeout_ms: u32, jit: &str) -> [(&'static str, Server); 3] {
    in_each_mode(PAGES).map(|(mode, server)| {
        let server = server
            .with("--request-timeout-ms", &timeout_ms.to_string())
            .with("--define", "opcache.file_update_protection=0")
            .with("--define", "opcache.jit_buffer_size=16M")
            .with("--define", &format!("opcache.jit={jit}"));
        (mode, server)
    })
}

fn begin(weft: &Running, target: &str) -> Client {
    let mut client = weft.connect();
    client.get(target);
    client
}

fn ends_endless_scripts(jit: &str) {
    for (mode, server) in servers(300, jit) {
        let weft = server.start();
        let pid = weft.workers()[0];
        for kind in ["empty", "counts", "calls", "recurses", "catches"] {
            // The second time it is compiled.
            for round in 1..=2 {
                let status = begin(&weft, &format!("/{kind}/endless")).read().status;
                assert_eq!(status, 504, "{mode}, {jit}, {kind}, {round}: {}", weft.log());
            }
        }
        let after = weft.get("/after").text();
        assert!(after.ends_with(&format!("of {pid}")), "{mode}, {jit}: {after}, not {pid}: {}", weft.log());
    }
}

#[test]
fn an_endless_script_is_ended_without_the_jit() {
    ends_endless_scripts("off");
}

#[test]
fn an_endless_script_is_ended_with_the_jit_of_functions() {
    ends_endless_scripts("function");
}

#[test]
fn an_endless_script_is_ended_with_the_jit_of_traces() {
    ends_endless_scripts("tracing");
}

#[test]
fn endless_scripts_in_all_workers_keep_no_new_connection_waiting() {
    for (mode, server) in servers(1000, "tracing") {
        let weft = server.with("--workers", "2").start();
        let mut endless: Vec<Client> = (0..4).map(|_| begin(&weft, "/counts/endless")).collect();
        for n in 0..40 {
            let response = begin(&weft, &format!("/new/{n}")).read();
            assert_eq!(response.status, 200, "{mode}: {}", weft.log());
        }
        for client in &mut endless {
            assert_eq!(client.read().status, 504, "{mode}: {}", weft.log());
        }
    }
}

#[test]
fn c_code_that_cannot_be_ended_costs_its_worker_and_its_client_the_answer() {
    for (mode, server) in servers(1000, "off") {
        let mut weft = server.with("--extra-workers-max", "1").start();
        let before = weft.workers()[0];
        let mut stuck = begin(&weft, "/C/endless");
        assert_eq!(stuck.read().status, 504, "{mode}: {}", weft.log());
        weft.wait_for_log("cannot be stopped");
        let after = begin(&weft, "/after").read();
        assert_eq!(after.status, 200, "{mode}");
        assert!(!after.text().ends_with(&format!("of {before}")), "{mode}");
    }
}
