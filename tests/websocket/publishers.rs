//! Publishing from everywhere: the command line, HTTP, scripts, and pages of another server.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use weft_tests::{Client, Running, Server, command};

use crate::topics::{ask, enter, rooms};
use weft_tests::websocket::Socket;

const TOKEN: &str = "a-token-of-this-test";

/// A server with an admin socket, and a subscriber.
fn with_socket(token: Option<&str>) -> (Running, Socket, String) {
    let server = rooms().with("--listen", "127.0.0.1:0");
    let address = format!("admin+unix:{}", server.directory().join("admin.sock").display());
    let server = server.with("--listen", &address);
    let server =
        token.into_iter().fold(server, |server, token| server.with_variable("WEFT_ADMIN_TOKEN", token));
    let weft = server.with("--workers", "3").start();
    let (mut socket, ..) = enter(&weft, "/room");
    assert_eq!(ask(&mut socket, "join news"), "true");
    (weft, socket, address)
}

fn is_id(text: &str) -> bool {
    let parts = text.split_once('-');
    parts.is_some_and(|(epoch, at)| [epoch, at].iter().all(|part| u64::from_str_radix(part, 16).is_ok()))
}

#[test]
fn the_command_line_publishes() {
    let (weft, mut socket, address) = with_socket(None);
    let said = weft.weft(&["publish", "news", "hello", "--to", &address]);
    assert_eq!((said.code, socket.text()), (Some(0), "hello".to_owned()), "{}", said.stderr);
    let id: serde_json::Value = serde_json::from_str(&said.stdout).unwrap();
    assert!(is_id(id["id"].as_str().unwrap()) && id["subscribers"] == 1, "{id}");
    weft.write("message", "é from a file");
    let shell = |script: &str| {
        let mut shell = Command::new("sh");
        let binary = command::binary();
        let output = command::finish(
            shell.args(["-c", script]).env("WEFT", binary).env("TO", &address).current_dir(weft.directory()),
        );
        (output.code, output.stderr)
    };
    assert_eq!(shell("$WEFT publish news --to $TO < message"), (Some(0), String::new()));
    assert_eq!(socket.text(), "é from a file");
    assert_eq!(shell("$WEFT publish news - --to $TO < message"), (Some(0), String::new()));
    assert_eq!(socket.text(), "é from a file");
    assert_eq!(shell(r"printf '\377\0' | $WEFT publish --binary news --to $TO"), (Some(0), String::new()));
    assert_eq!(socket.read(), (0x82, vec![0xFF, 0]));
    // What the file says.
    weft.write("weft.toml", &format!("[server]\nlisten = [\"127.0.0.1:1\", \"{address}\"]\n"));
    assert_eq!(weft.weft(&["publish", "news", "by the file"]).code, Some(0));
    assert_eq!(socket.text(), "by the file");
}

#[test]
fn the_command_line_says_what_is_wrong() {
    let (weft, mut socket, address) = with_socket(None);
    let fails = |arguments: &[&str]| {
        let said = weft.weft(&[&["publish"], arguments].concat());
        assert_eq!((said.code, &said.stdout[..]), (Some(1), ""), "{arguments:?}");
        said.stderr
    };
    assert!(fails(&["news", "x"]).starts_with("weft: no server is named: give --to "));
    let nowhere = format!("{address}.none");
    assert_eq!(
        fails(&["news", "x", "--to", &nowhere]),
        format!(
            "weft: no server listens at {nowhere}: is it running, and was it started with --listen {nowhere}?\n"
        )
    );
    assert!(fails(&["a\tb", "x", "--to", &address]).contains("has refused it: a topic's name is UTF-8"));
    let shell = "head -c 3000000 /dev/zero | $WEFT publish --binary news --to $TO";
    let mut command = Command::new("sh");
    let said =
        command::finish(command.args(["-c", shell]).env("WEFT", command::binary()).env("TO", &address));
    assert!(said.stderr.contains("at most 2097116 bytes, an eighth of topics_bytes"), "{}", said.stderr);
    // A large one that fits.
    let shell = "head -c 2000000 /dev/zero | $WEFT publish --binary none --to $TO";
    let mut command = Command::new("sh");
    let said =
        command::finish(command.args(["-c", shell]).env("WEFT", command::binary()).env("TO", &address));
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.ends_with(",\"subscribers\":0}\n"), "nobody: {}", said.stdout);
    assert_eq!(ask(&mut socket, "topics"), r#"["news"]"#);
    let mode = std::fs::metadata(weft.path("admin.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "who may publish is said by the socket's mode");
}

#[test]
fn the_admin_listener_takes_publications_from_those_who_have_the_token() {
    let (weft, mut socket, address) = with_socket(Some(TOKEN));
    let post = |target: &str, token: &str, kind: &str, body: &[u8]| {
        let mut client = Client::connect_unix(&weft.path("admin.sock"));
        let head = format!(
            "POST {target} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        client.send([head.as_bytes(), body].concat());
        client.read()
    };
    let answer = post("/publish?topic=news", TOKEN, "text/plain", b"over http");
    assert_eq!((answer.status, socket.text()), (200, "over http".to_owned()));
    assert!(is_id(answer.json()["id"].as_str().unwrap()));
    let answer = post("/publish?topic=news", TOKEN, "application/octet-stream", &[0xFF]);
    assert_eq!((answer.status, socket.read()), (200, (0x82, vec![0xFF])));
    for (target, token, kind, status) in [
        ("/publish?topic=news", "another-token-of-this-test", "text/plain", 401),
        ("/publish?topic=news", TOKEN, "text/plain", 400),
        ("/publish", TOKEN, "application/octet-stream", 400),
        ("/metrics", TOKEN, "text/plain", 405),
    ] {
        assert_eq!(post(target, token, kind, &[0xFF]).status, status, "{target} {token} {kind}");
    }
    let said = weft.weft(&["publish", "news", "x", "--to", &address]);
    assert!(said.stderr.contains("wants a token: set WEFT_ADMIN_TOKEN"), "{}", said.stderr);
    // Larger than what arrives at once.
    let large = vec![b'x'; 1_000_000];
    let mut client = Client::connect_unix(&weft.path("admin.sock"));
    client.send(format!(
        "POST /publish?topic=other HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: {}\r\n\r\n",
        large.len()
    ));
    for part in large.chunks(300_000) {
        client.send(part);
    }
    assert_eq!(client.read().status, 200);
    // Its client goes before it has sent everything.
    let mut client = Client::connect_unix(&weft.path("admin.sock"));
    client.send(format!(
        "POST /publish?topic=news HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {TOKEN}\r\nContent-Length: 200000\r\n\r\npart"
    ));
    drop(client);
    assert_eq!(post("/publish?topic=news", TOKEN, "text/plain", b"last").status, 200);
    assert_eq!(socket.text(), "last");
}

#[test]
fn scripts_and_pages_of_other_servers_publish_to_the_one_that_is_named() {
    let (weft, mut socket, address) = with_socket(Some(TOKEN));
    let code = "echo Weft\\Topic::publish('news', $argv[1] ?? 'from a page');";
    weft.write("script.php", &format!("<?php {code}"));
    let run = |address: &str, token: &str| {
        let mut command = command::command(weft.directory());
        command.env("WEFT_TOPICS_PUBLISH_TO", address).env("WEFT_TOPICS_PUBLISH_TOKEN", token);
        command::finish(command.args(["php", "script.php", "from a script"]))
    };
    let said = run(&address, TOKEN);
    assert_eq!(socket.text(), "from a script");
    assert!(is_id(&said.stdout), "{}{}", said.stdout, said.stderr);
    assert!(run(&address, "").stdout.contains("wants a token"));
    assert!(
        run("admin+unix:/nowhere", TOKEN).stdout.contains("No server to publish to at admin+unix:/nowhere")
    );
    assert!(run("", TOKEN).stdout.contains("this process belongs to no server"));
    // An unmodified page of classic mode, and a script that stays loaded.
    let classic = Server::of_docroot(&[("index.php", &format!("<?php {code}"))])
        .with("--topics-publish-to", &address)
        .with_variable("WEFT_TOPICS_PUBLISH_TOKEN", TOKEN)
        .start();
    assert!(is_id(&classic.get("/").text()), "{}", classic.log());
    assert_eq!(socket.text(), "from a page");
    let resident = Server::new("return fn () => Weft\\Topic::publish('news', 'from a loaded script');")
        .with("--run-as", "resident")
        .with("--topics-publish-to", &address)
        .with_variable("WEFT_TOPICS_PUBLISH_TOKEN", TOKEN)
        .start();
    assert!(is_id(&resident.get("/").text()), "{}", resident.log());
    assert_eq!(socket.text(), "from a loaded script");
}

#[test]
fn pages_publish_to_their_own_server_where_none_is_named() {
    let classic =
        Server::of_docroot(&[("index.php", "<?php echo Weft\\Topic::publish('news', 'x');")]).start();
    assert!(is_id(&classic.get("/").text()), "{}", classic.log());
}
