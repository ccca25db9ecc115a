//! What testssl.sh finds, which tries every protocol, cipher and known weakness of TLS by means of its own.

use std::process::{Command, Stdio};

use serde_json::Value;
use weft_tests::Server;
use weft_tests::services::Authority;

/// What it says of the test's own certificate and application, or of every server with current ciphers.
const EXPECTED: [(&str, &str); 4] = [
    ("cert_revocation", "the test's authority has no list of revoked certificates"),
    ("intermediate_cert_", "the test's authority lives for a month"),
    ("security_headers", "the application sends none"),
    ("cipher_order", "all ciphers are good, so the client chooses, as with nginx's defaults"),
];

#[test]
fn testssl_finds_nothing() {
    let server = Server::new("return fn ($r) => 'Hello World';");
    Authority::new(server.directory()).certify("a", "DNS:a.example", 300);
    let server = server.with("--listen", "https://127.0.0.1:0").with("--tls-hsts-s", "31536000");
    let weft = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key").start();
    let mut testssl = Command::new("testssl");
    testssl.current_dir(weft.directory()).args(["--quiet", "--color", "0", "--warnings", "off"]);
    testssl.args(["--nodns", "none", "--ip", "127.0.0.1", "--add-ca", "ca.pem", "--jsonfile", "found.json"]);
    // All but the simulation of clients, which finds nothing and takes long.
    testssl.args(["-p", "-s", "-f", "-P", "-S", "-h", "-U"]);
    testssl.arg(format!("https://a.example:{}/", weft.address.port())).stdin(Stdio::null());
    let output = testssl.output().expect("tools/packages test installs testssl.sh");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let found: Vec<Value> =
        serde_json::from_str(&weft.read("found.json")).unwrap_or_else(|error| panic!("{error}: {said}"));
    let is_bad = |finding: &&Value| {
        let id = finding["id"].as_str().unwrap_or_default();
        let is_known = EXPECTED.iter().any(|(known, _)| id.starts_with(known));
        // WARN is said of what it could not look at.
        !is_known && !["OK", "INFO", "LOW", "WARN"].iter().any(|severity| finding["severity"] == *severity)
    };
    let bad: Vec<&Value> = found.iter().filter(is_bad).collect();
    assert!(bad.is_empty(), "{bad:#?}");
    for (id, severity) in
        [("TLS1_2", "OK"), ("TLS1_3", "OK"), ("heartbleed", "OK"), ("cert_chain_of_trust", "OK")]
    {
        let is_so = |finding: &Value| finding["id"] == id && finding["severity"] == severity;
        assert!(found.iter().any(is_so), "{id} is not {severity}: {said}");
    }
}
