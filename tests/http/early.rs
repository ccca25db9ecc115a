//! Answers that are sent before the request's body has been read: clients and proxies get the answer, not a
//! broken connection.

use std::net::SocketAddr;

use weft_tests::Client;
use weft_tests::services::{Service, Setup, free_port};

use crate::server;

/// Four times the limit: more than sockets buffer.
const BODY_BYTES: usize = 32 << 20;
const TRIES: usize = 10;

/// nginx as a proxy that does not buffer requests, so it forwards bytes as it receives them.
fn nginx(upstream: SocketAddr) -> (Service, SocketAddr) {
    let (nginx, port) = (Setup::new(), free_port());
    let run = nginx.path("");
    nginx.write(
        "nginx.conf",
        &format!(
            "{}worker_processes 1;\ndaemon off;\npid {run}nginx.pid;\nerror_log {run}nginx.log;\nevents {{}}\nhttp {{\n\
             access_log off; client_body_temp_path {run}b; fastcgi_temp_path {run}f; proxy_temp_path {run}p;\n\
             uwsgi_temp_path {run}u; scgi_temp_path {run}s; client_max_body_size 0;\n\
             upstream weft {{ server {upstream}; keepalive 4; }}\n\
             server {{ listen 127.0.0.1:{port}; proxy_http_version 1.1; proxy_set_header Connection '';\n\
             location /unbuffered/ {{ proxy_request_buffering off; proxy_pass http://weft/; }}\n\
             location / {{ proxy_pass http://weft; }} }} }}\n",
            if rustix::process::getuid().is_root() { "user root;\n" } else { "" },
        ),
    );
    let conf = nginx.path("nginx.conf");
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    let nginx = nginx.start("TERM", &[], "/usr/sbin/nginx", &["-c", &conf]);
    (nginx.wait_until(|| Client::try_connect(address).is_ok()), address)
}

/// What curl received, and how it ended: curl must neither report a broken connection nor end without an answer.
fn curl(address: SocketAddr, target: &str, file: &str, arguments: &[&str]) -> String {
    let output = std::process::Command::new("curl")
        .args(["--silent", "--show-error", "--output", "/dev/null", "--write-out", "%{http_code}"])
        .args(arguments)
        .args(["--data-binary", &format!("@{file}"), &format!("http://{address}{target}")])
        .output()
        .expect("curl runs");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

#[test]
fn a_413_passes_nginx() {
    let weft = server().start();
    let (_nginx, address) = nginx(weft.addresses()[0]);
    let body = weft.path("upload");
    std::fs::write(&body, vec![b'x'; BODY_BYTES]).unwrap();
    for target in ["/body", "/unbuffered/body"] {
        for attempt in 0..TRIES {
            assert_eq!(curl(address, target, body.to_str().unwrap(), &[]), "413", "{target}, {attempt}");
        }
    }
}

#[test]
fn a_413_reaches_curl() {
    let weft = server().start();
    let body = weft.path("upload");
    std::fs::write(&body, vec![b'x'; BODY_BYTES]).unwrap();
    for arguments in [&["--header", "Expect:"][..], &["--header", "Transfer-Encoding: chunked"], &[]] {
        for attempt in 0..TRIES {
            let said = curl(weft.addresses()[0], "/body", body.to_str().unwrap(), arguments);
            assert_eq!(said, "413", "{arguments:?}, {attempt}");
        }
    }
}

#[test]
fn an_answer_that_does_not_read_its_request_passes_nginx() {
    let weft = server().with("--body-bytes-max", "64MiB").start();
    let (_nginx, address) = nginx(weft.addresses()[0]);
    let body = weft.path("upload");
    std::fs::write(&body, vec![b'x'; BODY_BYTES]).unwrap();
    for attempt in 0..TRIES {
        let said = curl(address, "/unbuffered/ignore-body", body.to_str().unwrap(), &[]);
        assert_eq!(said, "200", "{attempt}");
    }
}
