//! Clients that read slowly or not at all: each occupies a file, not an instance.

use weft_tests::{Client, Running, Server, until};

/// More than the kernel buffers between a server and a client that does not read.
const PIECES: usize = 750;
const PIECE: usize = 8192;

/// A page that is echoed piece by piece and reports when its script has ended. `?flush` sends the first piece at once,
/// `?pace` waits for the client's pace, `?string` echoes everything at once.
const PAGE: &str = "<?php
    if (isset($_GET['pace'])) { header('X-Accel-Buffering: no'); }
    $pieces = array_map(fn (int $n): string => str_pad(\"piece $n \", 8192, '.'), range(0, 749));
    if (isset($_GET['string'])) { $pieces = [implode($pieces)]; }
    foreach ($pieces as $piece) {
        echo $piece;
        if (isset($_GET['flush'])) { unset($_GET['flush']); flush(); }
    }
    file_put_contents(__DIR__ . '/ended', '.', FILE_APPEND);";

fn expected() -> Vec<u8> {
    let mut page = Vec::new();
    for n in 0..PIECES {
        let start = format!("piece {n} ");
        page.extend_from_slice(start.as_bytes());
        page.resize((n + 1) * PIECE, b'.');
    }
    page
}

fn ended(weft: &Running, scripts: usize) {
    until("the ends of the scripts", || {
        let ended = std::fs::read(weft.path("public/ended")).unwrap_or_default();
        (ended.len() == scripts).then_some(())
    });
}

/// Clients send requests and read nothing; there are many more clients than instances.
fn served_beside(weft: &Running, clients: usize) {
    let targets = ["/page.php", "/page.php?flush", "/page.php?string"];
    let mut clients: Vec<Client> = (0..clients).map(|_| weft.connect()).collect();
    for (client, target) in clients.iter_mut().zip(targets.iter().cycle()) {
        client.get(target);
    }
    ended(weft, clients.len());
    assert_eq!(weft.get("/hello.php").text(), "hello");
    let page = expected();
    for client in &mut clients {
        let response = client.read();
        assert!(response.status == 200 && response.body == page);
        client.get("/hello.php");
        assert_eq!(client.read().text(), "hello", "the connection goes on");
    }
}

#[test]
fn sixty_clients_that_do_not_read_hold_no_instances() {
    let weft = Server::of_docroot(&[("page.php", PAGE), ("hello.php", "<?php echo 'hello';")])
        .with("--instances", "5")
        .with("--queue-timeout-ms", "600000")
        .start();
    served_beside(&weft, 60);
}

#[test]
fn sixty_such_clients_do_not_block_resident_mode_or_one_instance() {
    let worker = "<?php while (frankenphp_handle_request(function (): void {
        if ($_SERVER['REQUEST_URI'] === '/hello.php') { echo 'hello'; } else { include __DIR__ . '/public/page.inc'; }
    })) {}";
    for instances in ["5", "1"] {
        let weft = Server::of_docroot(&[("page.inc", PAGE)])
            .with_file("worker.php", worker)
            .with("--worker", "worker.php")
            .with("--instances", instances)
            .with("--queue-timeout-ms", "600000")
            .start();
        served_beside(&weft, 20);
    }
}

/// The temporary files that a worker has open.
fn files(weft: &Running, directory: &std::path::Path) -> usize {
    let list = |pid: u32| std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let names = weft
        .workers()
        .into_iter()
        .flat_map(list)
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok());
    names.filter(|name| name.starts_with(directory) && name.to_string_lossy().ends_with(" (deleted)")).count()
}

#[test]
fn a_script_can_ask_for_its_clients_pace_and_an_operator_for_no_files() {
    let own = tempfile::tempdir().unwrap();
    let start = |bytes_max: &str| {
        Server::of_docroot(&[("page.php", PAGE), ("hello.php", "<?php echo 'hello';")])
            .with_variable("TMPDIR", own.path().to_str().unwrap())
            .with("--instances", "2")
            .with("--spool-bytes-max", bytes_max)
            .start()
    };
    for (bytes_max, target, spooled) in
        [("1GiB", "/page.php", true), ("1GiB", "/page.php?pace", false), ("0", "/page.php", false)]
    {
        let weft = start(bytes_max);
        let mut client = weft.connect();
        client.get(target);
        let head = client.read_head();
        let said = target.contains("pace").then_some("no");
        assert_eq!(
            (head.status, head.header("x-accel-buffering")),
            (200, said),
            "a proxy in front has to know it, too"
        );
        if spooled {
            ended(&weft, 1);
            assert_eq!(files(&weft, own.path()), 1);
        } else {
            assert_eq!(weft.get("/hello.php").text(), "hello", "there is another instance");
            assert_eq!(files(&weft, own.path()), 0, "{bytes_max} {target}");
        }
        let mut reader = weft.connect();
        reader.get(target);
        assert!(reader.read().body == expected());
    }
}
