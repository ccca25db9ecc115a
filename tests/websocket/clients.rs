//! A client written by others: Python's websockets, without and with TLS.

use std::process::Command;

use weft_tests::command;
use weft_tests::services::Authority;

use crate::server;

#[test]
fn pythons_websockets_speaks_with_it() {
    let server = server();
    Authority::new(server.directory()).certify("a", "DNS:localhost,IP:127.0.0.1", 9);
    let server = server.with("--listen", "127.0.0.1:0").with("--listen", "https://127.0.0.1:0");
    let weft = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key").start();
    let tls = weft.addresses().into_iter().find(|address| *address != weft.address).expect("two");
    weft.write("client.py", include_str!("client.py"));
    for url in [format!("ws://{}", weft.address), format!("wss://localhost:{}", tls.port())] {
        let mut python = Command::new("/usr/bin/python3");
        let output = command::finish(python.current_dir(weft.directory()).args(["client.py", &url]));
        let said = (output.code, output.stdout.as_str());
        assert_eq!(said, (Some(0), "all is well\n"), "{url}: {} {}", output.stderr, weft.log());
    }
}
