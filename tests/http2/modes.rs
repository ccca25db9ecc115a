//! The same requests in classic and resident mode, where a script has PHP to itself.

use std::process::Command;

use weft_tests::{Running, Server, command};

const ANSWER: &str = "
switch ($path) {
    case '/large': echo str_repeat('weft', 2_000_000); break;
    case '/length': echo strlen(file_get_contents('php://input')); break;
    case '/flushed': for ($i = 0; $i < 3; $i++) { echo \"part $i\\n\"; flush(); } break;
    default: echo $_SERVER['SERVER_PROTOCOL'], ' ', $_SERVER['HTTP_HOST'];
}";

fn curl(weft: &Running, path: &str, flags: &[&str]) -> String {
    let mut curl = Command::new("curl");
    curl.current_dir(weft.directory()).args(["-sS", "--http2-prior-knowledge"]).args(flags);
    let output = command::finish(curl.arg(format!("http://{}{path}", weft.address)));
    assert_eq!(output.code, Some(0), "{} {}", output.stderr, weft.log());
    output.stdout
}

fn answers(weft: &Running, script: &str) {
    let path = |path: &str| format!("{script}{path}");
    weft.write("upload", &"x".repeat(3_000_000));
    assert_eq!(curl(weft, &path(""), &[]), format!("HTTP/2.0 {}", weft.address));
    assert_eq!(curl(weft, &path("/large"), &[]), "weft".repeat(2_000_000));
    assert_eq!(curl(weft, &path("/length"), &["--data-binary", "@upload"]), "3000000");
    assert_eq!(curl(weft, &path("/length"), &["-T", "upload", "-X", "POST"]), "3000000");
    assert_eq!(curl(weft, &path("/flushed"), &[]), "part 0\npart 1\npart 2\n");
}

#[test]
fn classic_mode_answers_with_scripts_and_files() {
    for instances in ["1", "4"] {
        let script = format!("<?php $path = $_SERVER['PATH_INFO'] ?? ''; {ANSWER}");
        let files = [("index.php", script.as_str()), ("note.txt", "a file")];
        let weft = Server::of_docroot(&files).with("--instances", instances).start();
        answers(&weft, "/index.php");
        assert_eq!(curl(&weft, "/note.txt", &[]), "a file");
        weft.write("public/large.bin", &"0123456789".repeat(500_000));
        assert_eq!(curl(&weft, "/large.bin", &[]), "0123456789".repeat(500_000));
        assert_eq!(curl(&weft, "/large.bin", &["-r", "5-9"]), "56789");
    }
}

#[test]
fn a_script_that_stays_loaded_answers_each_stream() {
    let script = format!(
        "<?php while (frankenphp_handle_request(function () {{ $path = $_SERVER['REQUEST_URI']; {ANSWER} }})) {{}}"
    );
    for instances in ["1", "4"] {
        let weft = Server::of_docroot(&[])
            .with_file("worker.php", &script)
            .with("--worker", "worker.php")
            .with("--instances", instances)
            .start();
        answers(&weft, "");
    }
}
