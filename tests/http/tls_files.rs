//! TLS as an operator sees it: files that change, files that do not fit, clients with certificates, plain HTTP beside it.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use weft_tests::services::Authority;
use weft_tests::wait::until;
use weft_tests::{Running, Server, command};

const APP: &str = "return fn ($r) => Weft\\Http\\Response::json($_SERVER);";

fn server() -> (Server, Authority) {
    let server = Server::new(APP);
    let authority = Authority::new(server.directory());
    authority.certify("a", "DNS:a.example", 9);
    (server, authority)
}

/// With TLS as the first address.
fn secure(server: Server) -> Server {
    let server = server.with("--listen", "https://127.0.0.1:0");
    server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key")
}

fn curl(weft: &Running, path: &str, flags: &[&str]) -> command::Output {
    let mut curl = Command::new("curl");
    curl.current_dir(weft.directory()).args(["-sS", "--cacert", "ca.pem", "--connect-to"]);
    curl.arg(format!("::{}", weft.address)).args(flags).arg(format!("https://a.example{path}"));
    command::finish(&mut curl)
}

#[test]
fn a_changed_certificate_is_served_and_no_request_is_lost() {
    let (server, authority) = server();
    let mut weft = secure(server).with("--workers", "2").start();
    let serial = |weft: &Running| {
        let said = curl(weft, "/", &["-o", "/dev/null", "-w", "%{certs}"]);
        let line = said.stdout.lines().find(|line| line.starts_with("Serial Number:")).map(str::to_owned);
        line.unwrap_or_else(|| panic!("no serial: {} {}", said.stdout, said.stderr))
    };
    let before = serial(&weft);
    let (weft_ref, done) = (&weft, &AtomicBool::new(false));
    std::thread::scope(|scope| {
        let mut clients = Vec::new();
        for _ in 0..2 {
            clients.push(scope.spawn(move || {
                let mut asked = 0;
                while !done.load(Ordering::Relaxed) {
                    let codes = curl(weft_ref, "/[1-50]", &["-o", "/dev/null", "-w", "%{http_code}\\n"]);
                    assert_eq!((codes.code, codes.stdout), (Some(0), "200\n".repeat(50)), "{}", codes.stderr);
                    asked += 50;
                }
                asked
            }));
        }
        authority.certify("a", "DNS:a.example", 8);
        until("the new certificate", || (serial(weft_ref) != before).then_some(()));
        done.store(true, Ordering::Relaxed);
        assert!(
            clients.into_iter().map(|client| client.join().expect("no request was lost")).sum::<u32>() > 0
        );
    });
    weft.wait_for_log("has changed: reloading");
    // A file that cannot be used changes nothing.
    let now = serial(&weft);
    weft.write("a.key", "not a key\n");
    weft.wait_for_log("a.key is not a PEM file with an unencrypted private key");
    assert_eq!(serial(&weft), now);
}

#[test]
fn check_refuses_what_clients_would_refuse() {
    let (server, authority) = server();
    authority.certify("b", "DNS:b.example", 9);
    authority.certify("old", "DNS:a.example", -1);
    let directory = server.directory();
    let check = |certificates: &str, key: &str| {
        let listen = ["check", "app.php", "--listen", "https://127.0.0.1:1"];
        let files = ["--tls-certificates", certificates, "--tls-keys", key];
        let output = command::weft(directory, &[&listen[..], &files].concat());
        assert_eq!(output.stderr.lines().count(), usize::from(output.code != Some(0)), "{}", output.stderr);
        output.stderr
    };
    assert_eq!(check("a.pem", "a.key"), "");
    assert_eq!(check("ca.pem", "ca.key"), "", "who certifies itself needs no chain");
    for (certificates, key, expected) in [
        ("a.pem", "b.key", "b.key is not the key of a.pem"),
        ("old.pem", "old.key", "old.pem has expired on"),
        ("a.crt", "a.key", "a.crt misses its chain: append the certificate of \"CN=Authority\""),
        ("a.key", "a.key", "a.key has no certificate"),
        ("a.pem", "a.pem", "a.pem is not a PEM file with an unencrypted private key"),
        ("none.pem", "a.key", "none.pem cannot be read"),
    ] {
        let said = check(certificates, key);
        assert!(said.starts_with(&format!("weft: {expected}")), "{said}");
    }
    let wrong_order = format!("{}{}", read(directory, "ca.pem"), read(directory, "a.crt"));
    std::fs::write(directory.join("order.pem"), wrong_order).expect("the test's own file");
    assert!(check("order.pem", "ca.key").contains("certificate 1 is not from the one after it"));
    let bare = command::weft(directory, &["check", "app.php", "--listen", "https://127.0.0.1:1"]);
    assert!(bare.stderr.contains("an https:// address needs a certificate"), "{}", bare.stderr);
}

fn read(directory: &std::path::Path, name: &str) -> String {
    std::fs::read_to_string(directory.join(name)).expect("the authority has written it")
}

#[test]
fn clients_may_or_must_show_a_certificate() {
    let (server, authority) = server();
    authority.certify("client", "DNS:client", 9);
    let stranger = server.directory().join("other");
    std::fs::create_dir(&stranger).expect("the test's own directory");
    Authority::new(&stranger).certify("client", "DNS:client", 9);
    let weft = secure(server).with("--tls-client-ca", "ca.pem").start();
    let known = ["--cert", "client.pem", "--key", "client.key"];
    let unknown = ["--cert", "other/client.pem", "--key", "other/client.key"];
    let said: Value = serde_json::from_str(&curl(&weft, "/", &known).stdout).expect("an answer");
    assert_eq!(said["SSL_CLIENT_VERIFY"], "SUCCESS");
    assert_eq!(
        (&said["SSL_CLIENT_S_DN"], &said["SSL_CLIENT_I_DN"]),
        (&"CN=client".into(), &"CN=Authority".into())
    );
    let left = &said["SSL_CLIENT_V_REMAIN"];
    assert!(left == "8" || left == "9", "whole days of nine, less the moment that has passed: {left}");
    let own = read(weft.directory(), "client.crt");
    assert_eq!(said["SSL_CLIENT_CERT"], own.as_str());
    for flags in [&[][..], &unknown] {
        let refused = curl(&weft, "/", flags);
        assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    }
    let (server, authority) = self::server();
    authority.certify("client", "DNS:client", 9);
    let server = secure(server).with("--tls-client-ca", "ca.pem");
    let weft = server.with("--tls-client-certificates", "optional").start();
    for (flags, expected) in [(&[][..], "NONE"), (&known, "SUCCESS")] {
        let said: Value = serde_json::from_str(&curl(&weft, "/", flags).stdout).expect("an answer");
        assert_eq!(said["SSL_CLIENT_VERIFY"], expected);
    }
    let forged = curl(&weft, "/", &["-H", "SSL_CLIENT_VERIFY: SUCCESS", "-H", "SSL-CLIENT-VERIFY: SUCCESS"]);
    let said: Value = serde_json::from_str(&forged.stdout).expect("an answer");
    assert_eq!(said["SSL_CLIENT_VERIFY"], "NONE");
}

#[test]
fn plain_http_is_redirected_and_browsers_are_told() {
    let (server, _authority) = server();
    let server = secure(server).with("--listen", "127.0.0.1:0").with_flag("--tls-redirect");
    let mut weft = server
        .with("--tls-hsts-s", "600")
        .with("--trust-proxies", "127.0.0.0/8")
        .with("--access-log", "-")
        .with("--access-log-format", "json")
        .start();
    let [tls, plain] = weft.addresses()[..] else { panic!("two addresses: {}", weft.log()) };
    let head = curl(&weft, "/", &["-i"]).stdout;
    assert!(head.contains("strict-transport-security: max-age=600\r\n"), "{head}");
    weft.wait_for_log("\"protocol\":\"HTTP/2.0\",\"scheme\":\"https\"");
    let say = |bytes: &str| {
        let mut client = weft_tests::Client::connect(plain);
        client.send(bytes);
        client.read()
    };
    let redirect = say("GET /a/b?c=d HTTP/1.1\r\nHost: a.example:8080\r\n\r\n");
    let location = format!("https://a.example:{}/a/b?c=d", tls.port());
    assert_eq!((redirect.status, redirect.header("location")), (301, Some(location.as_str())));
    assert_eq!(redirect.header("strict-transport-security"), None, "only TLS may say so");
    assert_eq!(say("POST / HTTP/1.1\r\nHost: a.example\r\nContent-Length: 0\r\n\r\n").status, 308);
    assert_eq!(say("GET / HTTP/1.0\r\n\r\n").status, 400, "nobody knows where to");
    let behind = say(
        "GET / HTTP/1.1\r\nHost: a.example\r\nX-Forwarded-For: 192.0.2.1\r\nX-Forwarded-Proto: https\r\n\r\n",
    );
    assert_eq!(behind.status, 200, "its proxy speaks TLS for it");
}

#[test]
fn a_response_of_the_status_service_is_stapled() {
    let (server, _) = server();
    let serial = "openssl x509 -noout -serial -in a.crt | cut -d= -f2";
    let respond = format!(
        "printf 'V\\t991231235959Z\\t\\t%s\\tunknown\\t/CN=a\\n' $({serial}) > index &&
        openssl ocsp -issuer ca.pem -cert a.crt -reqout request.der &&
        openssl ocsp -index index -CA ca.pem -rsigner ca.pem -rkey ca.key -reqin request.der -respout a.pem.ocsp -ndays 2"
    );
    let mut shell = Command::new("sh");
    let made = command::finish(shell.current_dir(server.directory()).args(["-c", &respond]));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let weft = secure(server).start();
    for version in ["-tls1_2", "-tls1_3"] {
        let mut client = Command::new("openssl");
        client
            .current_dir(weft.directory())
            .args(["s_client", "-status", "-CAfile", "ca.pem", version, "-connect"]);
        client.arg(weft.address.to_string()).stdin(std::process::Stdio::null());
        let said = command::finish(&mut client).stdout;
        assert!(said.contains("OCSP Response Status: successful"), "{version}: {said}");
        assert!(said.contains("Cert Status: good"), "{version}: {said}");
    }
}

#[test]
fn http2_has_the_same_deadline_and_the_same_promise() {
    let server =
        Server::new("return function ($r) { if ($r->path() === '/late') sleep(60); return 'soon'; };");
    Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
    let server = secure(server).with("--request-timeout-ms", "300").with("--tls-hsts-s", "600");
    let weft = server.start();
    for version in ["--http1.1", "--http2"] {
        let said = |path| {
            curl(&weft, path, &[version, "-o", "/dev/null", "-D", "-", "-w", "%{http_version} %{http_code}"])
        };
        let (soon, late) = (said("/"), said("/late"));
        let number = if version == "--http2" { "2" } else { "1.1" };
        assert!(soon.stdout.ends_with(&format!("{number} 200")), "{}", soon.stdout);
        assert!(
            soon.stdout.to_lowercase().contains("strict-transport-security: max-age=600"),
            "{}",
            soon.stdout
        );
        assert!(late.stdout.ends_with(&format!("{number} 504")), "{}", late.stdout);
    }
}
