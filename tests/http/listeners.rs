//! The addresses at which a server can be reached.

use std::os::unix::fs::PermissionsExt;

use weft_tests::Client;

use crate::server;

#[test]
fn a_unix_socket_with_its_permission_bits() {
    let server = server();
    let path = server.directory().join("weft.sock");
    let mut weft = server.with("--listen", &format!("unix:{},mode=0660", path.display())).start();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
    let mut client = Client::connect_unix(&path);
    for _ in 0..3 {
        client.get("/hello");
        assert_eq!(client.read().text(), "Hello World");
    }
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
    assert!(!path.exists(), "the socket's file is left behind");
}

#[test]
fn a_socket_file_left_behind_is_taken_over_and_a_living_one_is_not() {
    let server_directory = tempfile::tempdir().unwrap();
    let path = server_directory.path().join("weft.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listen = format!("unix:{}", path.display());
    let weft = server().with("--listen", &listen).start();
    let mut client = Client::connect_unix(&path);
    client.get("/hello");
    assert_eq!(client.read().status, 200);
    let mut second = server().with("--listen", &listen).spawn();
    assert_eq!(second.wait().code(), Some(1));
    second.wait_for_log(&path.display().to_string());
    client.get("/hello");
    assert_eq!(client.read().status, 200, "the first server keeps its socket");
    drop(weft);
}

#[test]
fn several_listeners_serve_the_same_application() {
    let server = server();
    let path = server.directory().join("weft.sock");
    let weft = server
        .with("--listen", "127.0.0.1:0")
        .with("--listen", "[::1]:0")
        .with("--listen", &format!("unix:{}", path.display()))
        .start();
    let addresses = weft.addresses();
    assert_eq!(addresses.len(), 2, "{}", weft.log());
    assert!(addresses.iter().any(|address| address.is_ipv6()));
    for address in addresses {
        let mut client = Client::connect(address);
        client.get("/hello");
        assert_eq!(client.read().text(), "Hello World");
    }
    let mut client = Client::connect_unix(&path);
    client.get("/hello");
    assert_eq!(client.read().text(), "Hello World");
}

#[test]
fn an_ipv6_client_is_seen_as_such() {
    let app =
        "return fn ($r) => $r->client() . ' ' . $_SERVER['REMOTE_ADDR'] . ' ' . $_SERVER['SERVER_PORT'];";
    let weft = weft_tests::Server::new(app).with("--listen", "[::1]:0").start();
    assert_eq!(weft.get("/").text(), format!("::1 ::1 {}", weft.address.port()));
}
