//! What a script sees of its request.

use serde_json::{Value, json};
use weft_tests::{Running, Server};

use super::ask;

const SHOW: &str = r#"<?php
header('Content-Type: application/json');
echo json_encode(['server' => $_SERVER, 'get' => $_GET, 'post' => $_POST, 'cookie' => $_COOKIE, 'request' => $_REQUEST,
    'files' => array_map(fn ($file) => $file + ['text' => @file_get_contents($file['tmp_name'])], $_FILES),
    'input' => file_get_contents('php://input'), 'headers' => getallheaders(), 'sapi' => PHP_SAPI,
    'filtered' => filter_input(INPUT_SERVER, 'REQUEST_METHOD')]);
"#;

fn show() -> Running {
    Server::of_docroot(&[("show.php", SHOW)]).with("--define", "variables_order=GPCS").start()
}

fn shown(weft: &Running, request: &str) -> Value {
    weft.say(request).json()
}

#[test]
fn server_variables_are_those_of_fastcgi() {
    let weft = show();
    let root = weft.path("public").canonicalize().expect("it exists").display().to_string();
    let mut client = weft.connect();
    client.send("GET /show.php/path%20info?a=1&b[]=2 HTTP/1.1\r\nHost: Example.org:8080\r\nX-Custom: yes\r\nCookie: c=d; e=f\r\nCookie: g=h\r\n\r\n");
    let all = client.read().json();
    let server = &all["server"];
    let expected = json!({
        "QUERY_STRING": "a=1&b[]=2", "REQUEST_METHOD": "GET", "CONTENT_TYPE": "", "CONTENT_LENGTH": "",
        "SCRIPT_NAME": "/show.php", "REQUEST_URI": "/show.php/path%20info?a=1&b[]=2",
        "DOCUMENT_URI": "/show.php", "DOCUMENT_ROOT": root, "SERVER_PROTOCOL": "HTTP/1.1",
        "REQUEST_SCHEME": "http", "GATEWAY_INTERFACE": "CGI/1.1", "REMOTE_ADDR": "127.0.0.1",
        "REMOTE_PORT": client.local_address().port().to_string(), "SERVER_ADDR": "127.0.0.1",
        "SERVER_PORT": weft.address.port().to_string(), "SERVER_NAME": "Example.org", "REDIRECT_STATUS": "200",
        "SCRIPT_FILENAME": format!("{root}/show.php"), "PATH_INFO": "/path info", "PHP_SELF": "/show.php/path info",
        "HTTP_HOST": "Example.org:8080", "HTTP_X_CUSTOM": "yes", "HTTP_COOKIE": "c=d; e=f; g=h",
    });
    for (name, value) in expected.as_object().expect("an object") {
        assert_eq!(&server[name], value, "{name}");
    }
    assert!(
        server["REQUEST_TIME_FLOAT"].as_f64() > Some(1e9)
            && server["REQUEST_TIME"].as_u64() > Some(1_000_000_000)
    );
    assert_eq!(all["get"], json!({"a": "1", "b": ["2"]}));
    assert_eq!(all["cookie"], json!({"c": "d", "e": "f", "g": "h"}));
    assert_eq!((&all["sapi"], &all["filtered"]), (&json!("weft"), &json!("GET")));
}

#[test]
fn a_client_cannot_set_http_proxy_or_a_name_with_underscores() {
    let weft = show();
    let all = shown(
        &weft,
        "GET /show.php HTTP/1.1\r\nHost: a\r\nProxy: evil\r\nX_A: 1\r\nX-B: 1\r\nX-B: 2\r\n\r\n",
    );
    assert_eq!(all["server"]["HTTP_PROXY"], Value::Null);
    assert_eq!(all["server"]["HTTP_X_A"], Value::Null);
    assert_eq!(all["server"]["HTTP_X_B"], json!("1, 2"));
}

#[test]
fn trusted_proxies_tell_of_their_clients() {
    let weft = Server::of_docroot(&[("show.php", SHOW)]).with("--trust-proxies", "127.0.0.0/8").start();
    let all = shown(
        &weft,
        "GET /show.php HTTP/1.1\r\nHost: inner\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Proto: https\r\n\r\n",
    );
    let server = &all["server"];
    assert_eq!(server["REMOTE_ADDR"], json!("203.0.113.7"));
    assert_eq!((&server["HTTPS"], &server["REQUEST_SCHEME"]), (&json!("on"), &json!("https")));
}

#[test]
fn forms_uploads_and_raw_bodies_arrive() {
    let weft = show();
    let mut client = weft.connect();
    client.post("/show.php?x=q", "application/x-www-form-urlencoded", "a=1&b%5B%5D=2&x=p");
    let all = client.read().json();
    assert_eq!((&all["post"], &all["request"]["x"]), (&json!({"a": "1", "b": ["2"], "x": "p"}), &json!("p")));
    assert_eq!(all["input"], json!("a=1&b%5B%5D=2&x=p"));
    let body = "--XX\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nü\r\n--XX\r\nContent-Disposition: form-data; \
                name=\"f\"; filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--XX--\r\n";
    client.post("/show.php", "multipart/form-data; boundary=XX", body);
    let all = client.read().json();
    assert_eq!(all["post"], json!({"t": "ü"}));
    let file = &all["files"]["f"];
    assert_eq!(
        (&file["name"], &file["size"], &file["error"], &file["text"]),
        (&json!("n.txt"), &json!(5), &json!(0), &json!("hello"))
    );
    assert!(
        !std::path::Path::new(file["tmp_name"].as_str().expect("a path")).exists(),
        "it goes with the request"
    );
    client.send("PUT /show.php HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n");
    let all = client.read().json();
    assert_eq!((&all["input"], &all["post"]), (&json!("abcde"), &json!([])));
    client.send("POST /show.php HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.read_head().status, 100);
    client.send("ok");
    assert_eq!(client.read().json()["input"], json!("ok"));
}

#[test]
fn a_slow_upload_does_not_keep_php_from_others() {
    let weft = show();
    let mut slow = weft.connect();
    slow.send("POST /show.php HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    assert_eq!(weft.get("/show.php").status, 200, "one worker, and the body of another is still on its way");
    slow.send("cd");
    assert_eq!(slow.read().json()["input"], json!("abcd"));
    let mut gone = weft.connect();
    gone.send("POST /show.php HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab");
    drop(gone);
    assert_eq!(weft.get("/show.php").status, 200);
}

#[test]
fn too_large_a_body_is_refused_before_php() {
    let weft = Server::of_docroot(&[("show.php", SHOW)]).with("--body-bytes-max", "8").start();
    let mut client = weft.connect();
    client.post("/show.php", "text/plain", "123456789");
    assert_eq!(client.read().status, 413);
}

#[test]
fn credentials_are_php_auth_variables() {
    let weft = show();
    let basic = ask(&weft, "GET", "/show.php", "Authorization: Basic bWU6cHc6eA==\r\n").json();
    assert_eq!(
        (&basic["server"]["PHP_AUTH_USER"], &basic["server"]["PHP_AUTH_PW"]),
        (&json!("me"), &json!("pw:x"))
    );
    assert_eq!(basic["server"]["HTTP_AUTHORIZATION"], json!("Basic bWU6cHc6eA=="));
    let digest = ask(&weft, "GET", "/show.php", "Authorization: Digest username=\"a\"\r\n").json();
    assert_eq!(digest["server"]["PHP_AUTH_DIGEST"], json!("username=\"a\""));
    assert_eq!(digest["server"]["PHP_AUTH_USER"], Value::Null);
    let bearer = ask(&weft, "GET", "/show.php", "authorization: Bearer t\r\nX-FOO: 1\r\n").json();
    assert_eq!(
        (&bearer["headers"]["Authorization"], &bearer["headers"]["X-Foo"]),
        (&json!("Bearer t"), &json!("1"))
    );
}

#[test]
fn a_large_upload_costs_no_memory() {
    let script = "<?php echo $_FILES['f']['size'], ' ', md5_file($_FILES['f']['tmp_name']) === md5(str_repeat('x', 1 << 20)) ? 'small' : 'large', ' ', memory_get_peak_usage() < 8 << 20 ? 'flat' : memory_get_peak_usage();";
    let mut server = Server::of_docroot(&[("up.php", script)]).with("--body-bytes-max", "256MiB");
    for ini in ["upload_max_filesize=256M", "post_max_size=256M"] {
        server = server.with("--define", ini);
    }
    let weft = server.start();
    const BYTES: usize = 64 << 20;
    let head = "--XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\n";
    let tail = "\r\n--XX--\r\n";
    let mut client = weft.connect();
    client.send(format!(
        "POST /up.php HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: {}\r\n\r\n{head}",
        head.len() + BYTES + tail.len()
    ));
    let block = vec![b'x'; 1 << 20];
    for _ in 0..BYTES >> 20 {
        client.send(&block);
    }
    client.send(tail);
    assert_eq!(client.read().text(), format!("{BYTES} large flat"));
    let status =
        std::fs::read_to_string(format!("/proc/{}/status", weft.workers()[0])).expect("a living worker");
    let peak: usize = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse().ok())
        .expect("its peak");
    assert!(peak < 150_000, "the worker needed {peak} KiB");
}

#[test]
fn options_of_the_server_are_answered_without_php() {
    let weft = show();
    let response = weft.say("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!((response.status, response.text().as_str()), (204, ""));
    assert!(response.header("allow").is_some_and(|methods| methods.starts_with("GET, HEAD, POST")));
    let said = weft.say("OPTIONS /show.php HTTP/1.1\r\nHost: a\r\n\r\n").json();
    assert_eq!(said["server"]["REQUEST_METHOD"], "OPTIONS", "of anything else the script says");
}
