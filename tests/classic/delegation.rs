//! Responses that a script delegates with X-Sendfile or X-Accel-Redirect, and what they must not expose.

use std::os::unix::fs::symlink;

use weft_tests::{Server, until};

use super::ask;

/// Sends the header that the query names, as a script does that relays another server's response.
const RELAY: &str = "<?php $line = explode(':', rawurldecode($_SERVER['QUERY_STRING']), 2); header($line[0] . ': ' . $line[1]); header('X-A: 1'); echo 'its own';";
/// What a script sees if another script delegated the response to it.
const SEES: &str = "<?php setcookie('second', '2'); echo implode('|', [$_SERVER['REQUEST_METHOD'], $_SERVER['REQUEST_URI'], \
    $_SERVER['QUERY_STRING'], $_SERVER['SCRIPT_NAME'], $_SERVER['PATH_INFO'], basename(getcwd()), json_encode($_GET + $_POST), \
    file_get_contents('php://input'), $_SERVER['CONTENT_LENGTH'], $_COOKIE['a'] ?? '', isset($GLOBALS['first']) ? 'leaked' : '']);";

fn site() -> Server {
    Server::of_docroot(&[
        ("relay.php", RELAY),
        ("sees.php", "<?php // SECRET\n"),
        ("in/sees.php", SEES),
        ("in/index.php", "<?php echo 'index';"),
        ("data/a b.txt", "accelerated"),
        (".env", "SECRET"),
        ("config.php~", "SECRET"),
    ])
    .with_file("files/a.bin", "0123456789")
    .with_file("files/notes.php", "a user's notes")
    .with_file("secret.txt", "SECRET")
}

fn percent(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn relayed(line: &str) -> String {
    format!("/relay.php?{}", percent(line))
}

#[test]
fn without_a_setting_they_are_headers_like_any_other() {
    let mut weft = site().start();
    let secret = weft.path("secret.txt");
    for (name, value) in [
        ("X-Sendfile", secret.to_str().expect("the test's path is text")),
        ("X-Sendfile", "/etc/passwd"),
        ("X-Accel-Redirect", "/.env"),
        ("X-Accel-Redirect", "/data/a%20b.txt"),
        ("X-Accel-Buffering", "no"),
    ] {
        let response = weft.get(&relayed(&format!("{name}:{value}")));
        assert_eq!(
            (response.status, response.text().as_str(), response.header(name)),
            (200, "its own", Some(value)),
            "a proxy in front may know what it means"
        );
    }
    weft.wait_for_log("a script has answered with X-Sendfile, which is off");
    weft.wait_for_log("--accel-redirect has it obeyed");
    assert_eq!(weft.log().matches("X-Sendfile, which is off").count(), 1, "once");
}

#[test]
fn files_of_the_named_directories_are_sent() {
    let server = site().with("--sendfile", "files");
    let files = server.directory().join("files");
    std::fs::create_dir(files.join("sub")).expect("a new directory");
    for (to, name) in [("../secret.txt", "out"), ("a.bin", "in"), ("..", "sub/up"), ("../..", "sub/far")] {
        symlink(to, files.join(name)).expect("a symbolic link");
    }
    let mut weft = server.start();
    let sent = |path: &str| {
        let response = weft.get(&relayed(&format!("X-Sendfile:{}", weft.path(path).display())));
        assert_eq!(response.header("x-sendfile"), None, "{path}");
        assert!(!response.text().contains("SECRET"), "{path}");
        (response.status, response.text())
    };
    for path in ["files/a.bin", "files/in", "files/sub/../a.bin", "files/sub/up/a.bin"] {
        assert_eq!(sent(path), (200, "0123456789".to_owned()), "{path}");
    }
    assert_eq!(sent("files/notes.php"), (200, "a user's notes".to_owned()));
    for path in [
        "files/out",
        "files/sub/far/secret.txt",
        "files/../secret.txt",
        "files/sub/../../secret.txt",
        "filesX",
        "secret.txt",
        "public/.env",
        "public/relay.php",
        "files",
        "files/",
        "files/none",
    ] {
        assert_eq!(sent(path).0, 404, "{path}");
    }
    for value in ["/etc/passwd", "/proc/self/environ", "relay.php", "../secret.txt", "", "/"] {
        let response = weft.get(&relayed(&format!("X-Sendfile:{value}")));
        assert_eq!(response.status, 404, "{value}");
        assert!(!response.text().contains("SECRET"), "{value}");
    }
    let target = relayed(&format!("X-Sendfile:{}", weft.path("files/a.bin").display()));
    let whole = weft.get(&target);
    assert_eq!(
        (whole.header("x-a"), whole.header("content-type")),
        (Some("1"), Some("application/octet-stream"))
    );
    let part = ask(&weft, "GET", &target, "Range: bytes=2-4\r\n");
    assert_eq!((part.status, part.text().as_str()), (206, "234"));
    let other = weft.get(&relayed("X-Accel-Redirect:/.env"));
    assert_eq!(
        (other.text().as_str(), other.header("x-accel-redirect")),
        ("its own", Some("/.env")),
        "it is off"
    );
    weft.wait_for_log(
        "X-Sendfile: /etc/passwd: there is no such file in the directories that sendfile names",
    );
}

#[test]
fn a_directory_that_would_show_the_scripts_is_refused() {
    for (directory, says) in [
        ("public", "contains the document root"),
        (".", "contains the document root"),
        ("none", "No such file or directory"),
        ("secret.txt", "is not a directory"),
    ] {
        let weft = site().start();
        let said = weft.weft(&["check", "public", "--sendfile", directory]);
        assert_ne!(said.code, Some(0), "{directory}");
        assert!(said.stderr.contains(says), "{directory}: {}", said.stderr);
    }
    let weft =
        site().with("--sendfile", "public/data").with_file("public/data/x.php", "<?php // SECRET").start();
    let sent = |path: &str| weft.get(&relayed(&format!("X-Sendfile:{}", weft.path(path).display()))).status;
    assert_eq!(
        (sent("public/data/a b.txt"), sent("public/data/x.php")),
        (200, 404),
        "the document root's rules hold"
    );
}

#[test]
fn another_url_answers_by_the_rules_of_a_url() {
    let mut weft = site().with_flag("--accel-redirect").with_file("public/loop.php", "<?php header('X-Accel-Redirect: /loop.php?' . ((int) $_SERVER['QUERY_STRING'] + 1)); file_put_contents('runs', 'x', FILE_APPEND);").start();
    let to = |uri: &str| relayed(&format!("X-Accel-Redirect:{uri}"));
    let file = weft.get(&to("/data/a%20b.txt"));
    assert_eq!((file.status, file.text().as_str()), (200, "accelerated"));
    assert_eq!((file.header("content-type"), file.header("x-a")), (Some("text/plain; charset=utf-8"), None));
    for header in ["x-accel-redirect", "x-sendfile"] {
        assert_eq!(file.header(header), None);
    }
    for uri in [
        "/.env",
        "/config.php~",
        "/none",
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/etc/passwd",
        "@named",
        "data",
        "/.git/config",
    ] {
        let response = weft.get(&to(uri));
        assert_eq!(response.status, 404, "{uri}");
        assert!(!response.text().contains("SECRET"), "{uri}");
    }
    assert_eq!(weft.get(&to("/sees.php")).text(), "", "it runs: its source is not sent");
    assert_eq!(weft.get(&to("/in/")).text(), "index");
    assert_eq!(weft.get(&to("/in")).header("location"), Some("/in/"));
    assert_eq!(weft.get(&relayed("X-Accel-Buffering:no")).header("x-accel-buffering"), None);
    assert_eq!(weft.get("/loop.php?0").status, 500);
    assert_eq!(weft.read("public/runs").len(), 11, "nginx's bound: ten redirections");
    weft.wait_for_log("it was redirected too often");
    assert_eq!(weft.get("/in/").text(), "index");
}

#[test]
fn a_script_that_is_named_runs_as_under_nginx() {
    let first = "<?php $GLOBALS['first'] = 1; setcookie('first', '1'); header('Content-Disposition: attachment'); header('X-A: 1');
        header('X-Accel-Redirect: /in/sees.php/more?b=2'); http_response_code(404); echo 'lost'; flush();";
    let finish = "<?php header('X-Accel-Redirect: /in/sees.php'); echo 'lost'; fastcgi_finish_request(); file_put_contents('after', 'ran');";
    for instances in ["1", "5"] {
        let weft = site()
            .with_file("public/first.php", first)
            .with_file("public/finish.php", finish)
            .with_flag("--accel-redirect")
            .with("--instances", instances)
            .start();
        let mut client = weft.connect();
        client.send("POST /first.php?a=1 HTTP/1.1\r\nHost: weft.test\r\nCookie: a=c\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n\r\nx=y");
        let response = client.read();
        assert_eq!(
            response.text(),
            "GET|/first.php?a=1|b=2|/in/sees.php|/more|in|{\"b\":\"2\"}|||c|",
            "instances {instances}"
        );
        assert_eq!((response.status, response.header("x-a")), (200, None));
        assert_eq!(response.header("content-disposition"), Some("attachment"));
        assert_eq!(response.all("set-cookie").len(), 2);
        client.send("HEAD /first.php HTTP/1.1\r\nHost: weft.test\r\n\r\n");
        assert_eq!(client.read_of_head().status, 200);
        client.get("/finish.php");
        assert!(client.read().text().starts_with("GET|/finish.php||/in/sees.php||in|"));
        until("the rest of the script", || (weft.read("public/after") == "ran").then_some(()));
        client.get("/in/");
        assert_eq!(client.read().text(), "index", "nothing is left of it");
    }
}

#[test]
fn a_script_that_stays_loaded_delegates_to_files_only() {
    let worker = "<?php return function () { [$name, $value] = explode('|', rawurldecode($_SERVER['QUERY_STRING']));
        if ($name === 'file') { return Weft\\Http\\Response::file($value); } header(\"$name: $value\"); return 'its own'; };";
    let mut weft = site()
        .with_file("worker.php", worker)
        .with("--worker", "worker.php")
        .with_flag("--accel-redirect")
        .with("--sendfile", "files")
        .start();
    let secret = weft.path("secret.txt").display().to_string();
    let answer = |line: &str| {
        let response = weft.get(&format!("/page?{}", percent(line)));
        (response.status, response.text())
    };
    assert_eq!(answer("X-Accel-Redirect|/data/a%20b.txt"), (200, "accelerated".to_owned()));
    assert_eq!(
        answer("X-Accel-Redirect|/in/sees.php").0,
        404,
        "the script is asked by its REQUEST_URI, which stays"
    );
    assert_eq!(answer(&format!("X-Sendfile|{secret}")).0, 404);
    assert_eq!(answer(&format!("file|{secret}")), (200, "SECRET".to_owned()), "the application's own word");
    assert_eq!(answer("file|/none").0, 404);
    weft.wait_for_log("X-Accel-Redirect: /in/sees.php: ");
}
