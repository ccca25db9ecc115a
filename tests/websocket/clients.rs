//! A client written by others: Python's websockets, without and with TLS. And its server, for clients in coroutines.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use weft_tests::services::Authority;
use weft_tests::{Server, command};

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

/// A client as an application would write it, over PHP's own streams (RFC 6455 sections 4.1 and 5.2; its messages are short).
const CLIENT: &str = r#"
function talk(string $server, string $text): string
{
    $stream = stream_socket_client("tcp://$server", $code, $why, 30) ?: throw new RuntimeException($why);
    stream_set_timeout($stream, 30);
    $key = base64_encode(random_bytes(16));
    fwrite($stream, "GET / HTTP/1.1\r\nHost: $server\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        . "Sec-WebSocket-Key: $key\r\nSec-WebSocket-Version: 13\r\n\r\n");
    $head = stream_get_line($stream, 8192, "\r\n\r\n");
    $accept = base64_encode(sha1("{$key}258EAFA5-E914-47DA-95CA-C5AB0DC85B11", true));
    if (!str_starts_with($head, 'HTTP/1.1 101 ') || !str_contains($head, $accept)) {
        return "refused: $head";
    }
    $mask = random_bytes(4);
    fwrite($stream, chr(0x81) . chr(0x80 | strlen($text)) . $mask . ($text ^ str_pad('', strlen($text), $mask)));
    [$first, $length] = array_map(ord(...), str_split(fread($stream, 2)));

    return $first === 0x81 ? stream_get_contents($stream, $length) : "a frame $first";
}

return fn ($request) => json_encode(Weft\parallel(array_map(
    fn (int $n) => fn () => talk($request->query('server'), "client $n"), range(1, (int) $request->query('count')))));
"#;

#[test]
fn clients_in_coroutines_of_one_worker_speak_with_pythons_server_at_once() {
    const CLIENTS: usize = 20;
    let weft = Server::new(CLIENT).start();
    weft.write("server.py", include_str!("server.py"));
    let mut python = Command::new("/usr/bin/python3");
    python.args(["server.py", &CLIENTS.to_string()]).current_dir(weft.directory());
    // It answers nobody before all are there, and ends with its standard input.
    let mut server = python.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("Python");
    let mut port = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut port).expect("a port");
    let answer = weft.get(&format!("/?server=127.0.0.1:{}&count={CLIENTS}", port.trim())).json();
    let expected: Vec<String> = (1..=CLIENTS).map(|number| format!("CLIENT {number}")).collect();
    assert_eq!(answer, serde_json::json!(expected), "{}", weft.log());
    drop(server.stdin.take());
    assert!(server.wait().expect("its end").success());
}
