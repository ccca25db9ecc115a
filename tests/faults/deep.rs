//! Deeply nested data: C code recurses in requests as deep as under `php`. Beyond that, the recursion costs one
//! instance.

use std::process::Command;

use weft_tests::{Client, Running, Server, process, until};

const DEEP: &str = include_str!("deep.php");

/// The output of `php` for all of it, on the stack of a main thread.
fn under_php(directory: &std::path::Path) -> String {
    let code = "require 'deep.inc'; echo json_encode(Deep\\everything());";
    let output =
        Command::new("php").args(["-d", "memory_limit=1G", "-r", code]).current_dir(directory).output();
    let output = output.expect("php runs");
    assert!(output.status.success(), "php itself fails: {:?}", output.status);
    String::from_utf8(output.stdout).expect("it is JSON")
}

const HANDLER: &str = "require __DIR__ . '/deep.inc';
    return fn ($request) => match ($request->path()) {
        '/deep' => json_encode(Deep\\everything()),
        '/task' => json_encode(Weft\\go(Deep\\everything(...))->await()),
        '/fiber' => (function () {
            ini_set('fiber.stack_size', '16M');
            $fiber = new Fiber(Deep\\everything(...));
            $fiber->start();
            return json_encode($fiber->getReturn());
        })(),
        '/wait' => (function () {
            $chain = Deep\\chain(50_000);
            while (!file_exists(__DIR__ . '/gate')) { usleep(5_000); }
            unset($chain);
            return 'waited';
        })(),
        default => 'ok',
    };";

#[test]
fn a_coroutine_recurses_in_c_code_as_deep_as_php_does() {
    let weft = Server::new(HANDLER).with_file("deep.inc", DEEP).start();
    let expected = under_php(weft.directory());
    let worker = weft.workers();
    let mut waiting: Vec<Client> = (0..20).map(|_| weft.connect()).collect();
    for client in &mut waiting {
        client.get("/wait");
    }
    for path in ["/deep", "/task", "/fiber", "/deep"] {
        assert_eq!(weft.get(path).text(), expected, "{path}");
    }
    weft.write("gate", "open");
    for client in &mut waiting {
        assert_eq!(client.read().text(), "waited");
    }
    assert_eq!(weft.workers(), worker, "the worker died");
}

#[test]
fn the_stack_that_a_deep_request_used_is_returned() {
    // One coroutine for each; all of them are kept when idle.
    let app = format!("{HANDLER} ").replace(
        "default => 'ok'",
        "default => (function () {
        Deep\\everything();
        touch(__DIR__ . '/here-' . bin2hex(random_bytes(8)));
        while (count(glob(__DIR__ . '/here-*')) < 10) { usleep(5_000); }
        return 'ok';
    })()",
    );
    let weft = Server::new(&app).with_file("deep.inc", DEEP).start();
    let worker = weft.workers()[0];
    assert_eq!(weft.get("/deep").status, 200);
    let before = stack_bytes(worker);
    let mut clients: Vec<Client> = (0..10).map(|_| weft.connect()).collect();
    for client in &mut clients {
        client.get("/");
    }
    for client in &mut clients {
        assert_eq!(client.read().text(), "ok");
    }
    let after = stack_bytes(worker);
    assert!(after < before + (4 << 20), "ten coroutines kept {} KiB", (after - before) >> 10);
}

/// Private memory, including PHP's heap. Ten retained stacks would be far more.
fn stack_bytes(worker: u32) -> u64 {
    process::private_bytes(worker)
}

/// The ways to run over the end of an instance's stack in C code that does not check the stack's depth.
const OVERRUNS: [&str; 3] = ["/free.php", "/serialize.php", "/fiber.php"];

fn instances() -> Server {
    let page =
        |code: &str| format!("<?php ini_set('memory_limit', -1); require __DIR__ . '/../deep.inc'; {code}");
    Server::of_docroot(&[
        ("free.php", &page("$chain = Deep\\chain(1_000_000); unset($chain); echo 'survived';")),
        ("serialize.php", &page("echo 'begun'; flush(); serialize(Deep\\nested(1_000_000));")),
        ("fiber.php", &page("(new Fiber(fn () => serialize(Deep\\nested(1_000_000))))->start();")),
        ("waits.php", "<?php $_SESSION = []; $here = $_GET['n'];
            touch(__DIR__ . \"/here-$here\");
            while (!file_exists(__DIR__ . '/gate')) { usleep(5_000); }
            echo \"waited $here\";"),
        ("pid.php", "<?php echo getmypid();"),
        ("deep.php", "<?php ini_set('memory_limit', -1); require __DIR__ . '/../deep.inc'; echo json_encode(Deep\\everything());"),
    ])
    .with_file("deep.inc", DEEP)
    .with("--instances", "20")
}

fn wait_in(weft: &Running, count: usize) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..count).map(|_| weft.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        client.get(&format!("/waits.php?n={n}"));
    }
    clients
}

#[test]
fn an_instance_recurses_in_c_code_as_deep_as_php_does() {
    let weft = instances().start();
    assert_eq!(weft.get("/deep.php").text(), under_php(weft.directory()));
}

#[test]
fn a_stack_that_runs_over_in_c_code_costs_its_instance_only() {
    for path in OVERRUNS {
        let mut weft = instances().start();
        let before = weft.get("/pid.php").text();
        let mut waiting = wait_in(&weft, 10);
        let mut client = weft.connect();
        client.get(path);
        match client.try_read() {
            Ok(response) => assert_eq!(response.status, 500, "{path}"),
            Err(_) => assert_eq!(path, "/serialize.php", "its response had begun, so it is cut"),
        }
        weft.wait_for_log("the instance is dropped");
        weft.wait_for_log(path);
        weft.write("public/gate", "open");
        for (n, client) in waiting.iter_mut().enumerate() {
            assert_eq!(client.read().text(), format!("waited {n}"), "{path}");
        }
        until("the worker to be replaced", || (weft.get("/pid.php").text() != before).then_some(()));
        assert!(!weft.log().contains("SIGSEGV"), "{}", weft.log());
    }
}

#[test]
fn a_stack_that_runs_over_costs_a_loaded_script_only() {
    let app = "require __DIR__ . '/deep.inc';
        ini_set('memory_limit', -1);
        return fn ($request) => match ($request->path()) {
            '/over' => serialize(Deep\\nested(1_000_000)),
            '/wait' => (function () {
                while (!file_exists(__DIR__ . '/gate')) { usleep(5_000); }
                return 'waited';
            })(),
            default => (string) getmypid(),
        };";
    let server = Server::new(app).with_file("deep.inc", DEEP);
    let mut weft = server.with("--run-as", "resident").with("--instances", "5").start();
    let before = weft.get("/").text();
    let mut waiting: Vec<Client> = (0..3).map(|_| weft.connect()).collect();
    for client in &mut waiting {
        client.get("/wait");
    }
    assert_eq!(weft.get("/over").status, 500);
    weft.wait_for_log("the instance is dropped");
    weft.write("gate", "open");
    for client in &mut waiting {
        assert_eq!(client.read().text(), "waited");
    }
    until("the worker to be replaced", || (weft.get("/").text() != before).then_some(()));
    assert!(!weft.log().contains("SIGSEGV"), "{}", weft.log());
}
