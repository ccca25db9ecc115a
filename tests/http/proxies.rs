//! The client's address behind a proxy, whatever a client sends to fake another one.

use serde_json::{Value, json};
use weft_tests::services::ReverseProxy;
use weft_tests::{Client, Running, Server};

/// In $_SERVER as well as in the Request.
const APP: &str = "return fn ($r) => Weft\\Http\\Response::json([$_SERVER['REMOTE_ADDR'], $r->scheme(), $r->host(),
    $r->client() === $_SERVER['REMOTE_ADDR'] && $r->scheme() === $_SERVER['REQUEST_SCHEME']
    && ($r->scheme() === 'https') === isset($_SERVER['HTTPS']) && $_SERVER['SERVER_NAME'] === $r->host() && $r->peer() === '127.0.0.1']);";

fn server(flags: &[&str]) -> Running {
    let trusting = Server::new(APP).with("--trust-proxies", "127.0.0.0/8");
    flags
        .iter()
        .fold(trusting, |server, flag| match flag.split_once('=') {
            Some((flag, value)) => server.with(flag, value),
            None => server.with_flag(flag),
        })
        .start()
}

fn ask(weft: &Running, fields: &str) -> Value {
    weft.say(format!("GET / HTTP/1.1\r\nHost: inside\r\n{fields}\r\n")).json()
}

#[test]
fn a_trusted_proxy_reports_the_client() {
    let x = "X-Forwarded-For: 6.6.6.6, 203.0.113.9\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Host: outside.example\r\n";
    let standard = "Forwarded: for=\"[2001:db8::1]:4711\";proto=https;host=outside.example\r\n";
    let trusting = server(&[]);
    assert_eq!(ask(&trusting, x), json!(["203.0.113.9", "https", "inside", true]));
    assert_eq!(
        ask(&trusting, standard),
        json!(["127.0.0.1", "http", "inside", true]),
        "a proxy that speaks X-Forwarded passes Forwarded on as its client sent it"
    );
    let hosts = server(&["--trust-host"]);
    assert_eq!(ask(&hosts, x), json!(["203.0.113.9", "https", "outside.example", true]));
    let forwarded = server(&["--trust-fields=forwarded"]);
    assert_eq!(ask(&forwarded, standard), json!(["2001:db8::1", "https", "inside", true]));
    assert_eq!(ask(&forwarded, x), json!(["127.0.0.1", "http", "inside", true]));
    let forwarded = server(&["--trust-fields=forwarded", "--trust-host"]);
    assert_eq!(ask(&forwarded, standard), json!(["2001:db8::1", "https", "outside.example", true]));
    let plain = Server::new(APP).start();
    assert_eq!(ask(&plain, x), json!(["127.0.0.1", "http", "inside", true]));
}

#[test]
fn no_long_or_malformed_client_header_hides_what_the_proxy_reports() {
    let weft = server(&[]);
    let many = "127.0.0.1, ".repeat(300);
    for forged in ["127.0.0.1", "unknown", "\"", ",,,,", "1.1.1.1:x", "[::1", many.as_str()] {
        let fields = format!(
            "X-Forwarded-For: {forged}\r\nX-Forwarded-Proto: http, http\r\nX-Forwarded-For: {forged}, 203.0.113.9\r\n\
             X-Forwarded-Proto: https\r\n"
        );
        assert_eq!(ask(&weft, &fields), json!(["203.0.113.9", "https", "inside", true]), "{forged}");
    }
    let weft = server(&["--trust-fields=forwarded", "--trust-host"]);
    let many = "for=127.0.0.1;host=evil, ".repeat(200);
    for forged in
        ["for=127.0.0.1", "for=1.1.1.1:x", "for=\"127.0.0.1", "\"\\", "host=evil;host=evil", many.as_str()]
    {
        let fields =
            format!("Forwarded: {forged}\r\nForwarded: {forged}, for=203.0.113.9;proto=https;host=shop\r\n");
        assert_eq!(ask(&weft, &fields), json!(["203.0.113.9", "https", "shop", true]), "{forged}");
    }
}

#[test]
fn behind_nginx_a_client_keeps_its_address() {
    const PROXY: &str = "127.0.0.8";
    let source = APP.replace("&& $r->peer() === '127.0.0.1'", &format!("&& $r->peer() === '{PROXY}'"));
    let weft = Server::new(&source).with("--trust-proxies", PROXY).start();
    let nginx = ReverseProxy::start(
        weft.address,
        &format!(
            "proxy_bind {PROXY}; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n\
             proxy_set_header X-Forwarded-Proto https; proxy_set_header Host $host;"
        ),
    );
    let many = format!("X-Forwarded-For: {}\r\n", format!("{PROXY}, ").repeat(80));
    for forged in [
        "",
        "X-Forwarded-For: 127.0.0.8\r\n",
        "X-Forwarded-For: x\r\nX-Forwarded-For: 127.0.0.8\r\n",
        &many,
        "X-Forwarded-Proto: http\r\nX-Forwarded-Proto: http\r\n",
        "X-Forwarded-Host: evil.example\r\nForwarded: for=127.0.0.8;host=evil.example\r\n",
    ] {
        let mut client = Client::connect(nginx.address);
        client.send(format!("GET / HTTP/1.1\r\nHost: site.test\r\n{forged}\r\n"));
        assert_eq!(client.read().json(), json!(["127.0.0.1", "https", "site.test", true]), "{forged}");
    }
}
