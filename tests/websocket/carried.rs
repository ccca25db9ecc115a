//! WebSockets as streams of HTTP/2 (RFC 8441).

use std::process::Command;

use weft_tests::Running;
use weft_tests::command;
use weft_tests::services::Authority;

use crate::server;

fn python(weft: &Running, port: u16, more: &[&str]) {
    weft.write("carried.py", include_str!("carried.py"));
    let mut python = Command::new("/usr/bin/python3");
    python.current_dir(weft.directory()).args(["carried.py", &port.to_string()]).args(more);
    let output = command::finish(&mut python);
    let said = (output.code, output.stdout.as_str());
    assert_eq!(said, (Some(0), "all is well\n"), "{} {}", output.stderr, weft.log());
}

#[test]
fn a_stream_may_carry_a_websocket() {
    let server = server();
    Authority::new(server.directory()).certify("a", "DNS:localhost,IP:127.0.0.1", 9);
    let server = server.with("--listen", "127.0.0.1:0").with("--listen", "https://127.0.0.1:0");
    let weft = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key").start();
    let tls = weft.addresses().into_iter().find(|address| *address != weft.address).expect("two");
    python(&weft, weft.address.port(), &[]);
    python(&weft, tls.port(), &["tls"]);
}
