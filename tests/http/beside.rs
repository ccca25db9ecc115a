//! Static files beside an application that is a script: `files`.

use rustix::process::Signal;
use weft_tests::{Client, Running, Server, process};

const TEXT: &str = "body { color: green }\n";

fn with_files(server: Server) -> Server {
    let script = "<?php echo 'leaked';";
    [
        ("public/a.css", TEXT.repeat(100)),
        ("public/b.js", "plain".into()),
        ("public/b.js.gz", "packed".into()),
        ("public/dir/c.txt", "0123456789".into()),
        ("public/.env", "leaked".into()),
        ("public/page.php", script.into()),
        ("public/denied/.htaccess", "Require all denied\n".into()),
        ("public/denied/x.txt", "leaked".into()),
    ]
    .into_iter()
    .fold(server, |server, (name, text)| server.with_file(name, &text))
    .with("--files", "public")
}

fn application() -> Server {
    Server::new("return fn ($r) => 'app ' . $r->method() . ' ' . $r->path();")
}

fn ask(weft: &Running, method: &str, target: &str, fields: &str) -> weft_tests::Response {
    let mut client = weft.connect();
    client.send(format!("{method} {target} HTTP/1.1\r\nHost: a\r\n{fields}\r\n"));
    if method == "HEAD" { client.read_of_head() } else { client.read() }
}

fn sends_its_files(weft: &Running, application: &str) {
    let css = ask(weft, "GET", "/a.css?v=1", "");
    assert_eq!((css.status, css.header("content-type")), (200, Some("text/css")));
    assert_eq!(css.text(), TEXT.repeat(100));
    let etag = css.header("etag").expect("an entity tag").to_owned();
    assert_eq!(ask(weft, "GET", "/a.css", &format!("If-None-Match: {etag}\r\n")).status, 304);
    assert_eq!(ask(weft, "HEAD", "/a.css", "").header("content-length"), Some("2200"));
    for coding in ["gzip", "br", "zstd"] {
        let coded = ask(weft, "GET", "/a.css", &format!("Accept-Encoding: {coding}\r\n"));
        assert_eq!(
            (coded.header("content-encoding"), coded.header("vary")),
            (Some(coding), Some("Accept-Encoding"))
        );
        assert!(coded.body.len() < 200, "{coding}");
    }
    assert_eq!(ask(weft, "GET", "/b.js", "Accept-Encoding: gzip\r\n").text(), "packed");
    assert_eq!(ask(weft, "GET", "/b.js", "").text(), "plain");
    let part = ask(weft, "GET", "/dir/c.txt", "Range: bytes=2-4\r\n");
    assert_eq!((part.status, part.text()), (206, "234".into()));
    for target in
        ["/", "/dir", "/dir/", "/.env", "/page.php", "/none", "/denied/x.txt", "/dir/../.env", "/a.css/x"]
    {
        assert!(ask(weft, "GET", target, "").text().starts_with(application), "{target}");
    }
    assert!(ask(weft, "POST", "/a.css", "Content-Length: 0\r\n").text().starts_with(application));
}

#[test]
fn an_application_and_its_files_share_an_address() {
    let weft = with_files(application()).start();
    sends_its_files(&weft, "app ");
    let said = |url: &str| weft.weft(&["check", "app.php", "--files", "public", "--url", url]).stdout;
    assert!(said("https://a/a.css?x").ends_with("/public/a.css\n"), "{}", said("https://a/a.css?x"));
    assert!(said("/none").contains("its handler answers every URL"));
}

#[test]
fn a_script_that_stays_loaded_has_files_too() {
    let script =
        "<?php while (frankenphp_handle_request(function () { echo 'worker ', $_SERVER['REQUEST_URI']; }));";
    sends_its_files(&with_files(Server::of_script("app.php", script)).start(), "worker ");
}

/// Sends all requests while the worker is stopped, so that they arrive in one turn of its loop; returns the connections.
fn at_once<'t>(
    weft: &Running,
    requests: impl Iterator<Item = (std::net::SocketAddr, &'t str)>,
) -> Vec<Client> {
    let worker = weft.workers()[0];
    process::signal(worker, Signal::STOP);
    weft_tests::until("the worker to stop", || process::is_stopped(worker).then_some(()));
    let ask = |(address, target): (std::net::SocketAddr, &str)| {
        let mut client = Client::connect(address);
        client.send(format!("GET {target} HTTP/1.1\r\nHost: a\r\n\r\n"));
        client
    };
    let clients = requests.map(ask).collect();
    process::signal(worker, Signal::CONT);
    clients
}

#[test]
fn requests_of_one_turn_are_told_apart() {
    let weft = with_files(application()).start();
    let targets = ["/x", "/b.js", "/y", "/dir/c.txt"];
    let expected = ["app GET /x", "plain", "app GET /y", "0123456789"];
    for _ in 0..3 {
        let clients = at_once(&weft, (0..40).map(|number| (weft.address, targets[number % 4])));
        for (number, mut client) in clients.into_iter().enumerate() {
            assert_eq!(client.read().text(), expected[number % 4], "{number}");
        }
    }
}

#[test]
fn what_is_the_operators_never_reaches_the_application() {
    let server = application().with("--listen", "127.0.0.1:0").with("--listen", "admin://127.0.0.1:0");
    let weft = server.start();
    let line = weft.log();
    let admin =
        line.lines().find_map(|line| line.split_once("admin://").map(|(_, rest)| rest.trim_end_matches('/')));
    let admin = admin.and_then(|address| address.parse().ok()).expect("its address is told");
    for _ in 0..3 {
        let requests = (0..40).map(|n| if n % 2 == 0 { (weft.address, "/x") } else { (admin, "/healthz") });
        for (number, mut client) in at_once(&weft, requests).into_iter().enumerate() {
            let said = client.read().text();
            assert_eq!(said.starts_with("app "), number % 2 == 0, "{number}: {said}");
        }
    }
}

#[test]
fn files_are_for_scripts_and_have_to_be_there() {
    let server =
        Server::configured().with_file("app.php", "<?php return fn () => '';").with_file("public/a", "");
    let check = |arguments: &[&str]| {
        let output = weft_tests::command::weft(server.directory(), &[&["check"], arguments].concat());
        assert_eq!(output.code, Some(1));
        output.stderr
    };
    assert!(check(&["public", "--files", "public"]).contains("files is for an application that is a script"));
    assert!(check(&["app.php", "--files", "none"]).contains("files: none: No such file or directory"));
    assert!(check(&["app.php", "--files", "app.php"]).contains("files: app.php: "));
}

const RULES: &str = r#"
[[rule]]
path = "/dir/secret"
deny = 404

[[rule]]
path = "/private"
auth = "users"
realm = "Staff"

[[rule]]
match = '^/old/(.*)$'
redirect = "/new/$1"
status = 301

[[rule]]
match = '^/v[0-9]+/(.*)$'
rewrite = "/$1"

[[rule]]
path = "/extra"
alias = "beside"

[[rule]]
path = "/"
header = { X-Frame-Options = "DENY" }

[[rule]]
path = "/upload"
body_bytes_max = 10
"#;

/// The same in both modes: `application` is how its answers begin.
fn obeys_rules(server: Server, application: &str) {
    let server = with_files(server)
        .with_file("weft.toml", RULES)
        .with_file("public/dir/secret/x.txt", "leaked")
        .with_file("public/private/x.txt", "for the staff")
        .with_file("beside/y.txt", "from beside")
        // The password is "weft".
        .with_file("users", "staff:{SHA}xzbi/zI2/3IvkNt118TNm32QV14=\n");
    let weft = server.start();
    for target in [
        "/dir/secret/x.txt",
        "/DIR/secret",
        "/dir//secret/none",
        "/%64ir/secret/x.txt",
        "/v1/dir/secret/x.txt",
    ] {
        assert_eq!(ask(&weft, "GET", target, "").status, 404, "{target}");
    }
    assert_eq!(ask(&weft, "POST", "/dir/secret/x.txt", "Content-Length: 0\r\n").status, 404);
    assert_eq!(ask(&weft, "GET", "/dir/../../x", "").status, 400, "no rule can be asked about it");
    for (target, body) in
        [("/private/x.txt", "for the staff".to_owned()), ("/private/none", application.to_owned())]
    {
        let asked = ask(&weft, "GET", target, "");
        let challenge = asked.header("www-authenticate").unwrap_or_default();
        assert!(
            asked.status == 401 && challenge.starts_with("Basic realm=\"Staff\""),
            "{target} {challenge}"
        );
        let let_in = ask(&weft, "GET", target, "Authorization: Basic c3RhZmY6d2VmdA==\r\n");
        assert!(let_in.status == 200 && let_in.text().starts_with(&body), "{target}: {}", let_in.text());
    }
    let moved = ask(&weft, "GET", "/old/a?b=c", "");
    assert_eq!((moved.status, moved.header("location")), (301, Some("/new/a?b=c")));
    assert_eq!(ask(&weft, "GET", "/v12/dir/c.txt", "").text(), "0123456789");
    assert!(
        ask(&weft, "GET", "/v12/none", "").text().contains("/v12/none"),
        "the application gets what was sent"
    );
    assert_eq!(ask(&weft, "GET", "/extra/y.txt", "").text(), "from beside");
    for target in ["/dir/c.txt", "/none", "/old/a", "/dir/secret/x.txt"] {
        let fields = ask(&weft, "GET", target, "");
        let is_before = matches!(target, "/old/a" | "/dir/secret/x.txt");
        let expected = (!is_before).then_some("DENY");
        assert_eq!(fields.header("x-frame-options"), expected, "{target}: rules are asked in their order");
    }
    let body = |length: usize| {
        let mut client = weft.connect();
        client.send(format!(
            "POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{}",
            "x".repeat(length)
        ));
        client.read().status
    };
    assert_eq!((body(10), body(11)), (200, 413));
    let said = |url: &str| weft.weft(&["check", "app.php", "--files", "public", "--url", url]).stdout;
    assert!(said("/dir/secret/x.txt").ends_with("answer        404\n"), "{}", said("/dir/secret/x.txt"));
    let of_page = said("/page");
    assert!(
        of_page.contains("script ") && of_page.contains("adds          X-Frame-Options: DENY"),
        "{of_page}"
    );
}

#[test]
fn rules_are_asked_before_a_handler() {
    obeys_rules(application(), "app ");
}

#[test]
fn rules_are_asked_before_a_script_that_stays_loaded() {
    let script =
        "<?php while (frankenphp_handle_request(function () { echo 'worker ', $_SERVER['REQUEST_URI']; }));";
    obeys_rules(Server::of_script("app.php", script), "worker ");
}
