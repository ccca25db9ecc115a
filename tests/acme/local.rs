//! `https://localhost`: certified by weft's own authority, which a browser is told to trust.

use std::path::PathBuf;
use std::process::Command;

use weft_tests::browser::Browser;
use weft_tests::wait::until;
use weft_tests::{Running, Server, command};

/// A page that says how it came, and opens a WebSocket beside itself.
const APP: &str = r#"
use Weft\WebSocket\{Connection, Service};

final class Parrot extends Service
{
    public function message(Connection $connection, string $message, bool $binary): void
    {
        $connection->send("echo $message");
    }
}

return new Weft\Application(
    fn ($r) => '<title>by ' . $_SERVER['SERVER_PROTOCOL'] . '</title><p id="said"></p><script>
        const socket = new WebSocket(`wss://${location.host}/echo`);
        socket.onopen = () => socket.send("hello");
        socket.onmessage = (event) => document.title += ", " + event.data;
    </script>',
    ['/echo' => new Parrot()],
);
"#;

fn start() -> (Running, PathBuf) {
    let weft = Server::new(APP)
        .with("--listen", "https://localhost:0")
        .with("--listen", "https://app.localhost:0")
        .with("--acme-storage", "storage")
        .with("--access-log", "-")
        .start();
    let authority = weft.path("storage/local/authority.pem");
    (weft, authority)
}

fn curl(weft: &Running, authority: &PathBuf, name: &str) -> command::Output {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--connect-to", &format!("::{}", weft.address), "--cacert"]).arg(authority);
    command::finish(curl.arg(format!("https://{name}/")))
}

#[test]
fn localhost_has_an_authority_that_certifies_nothing_else() {
    let (mut weft, authority) = start();
    assert!(
        weft.log().contains("by weft's own authority for localhost: have browsers import "),
        "{}",
        weft.log()
    );
    for name in ["localhost", "app.localhost"] {
        let said = curl(&weft, &authority, name);
        assert!(said.stdout.contains("by HTTP/2.0"), "{name}: {}", said.stderr);
    }
    assert_eq!(curl(&weft, &authority, "a.example").code, Some(60), "it has no certificate for others");
    // Its key is worth nothing for other names: whoever takes it finds that clients refuse what it signs.
    let directory = weft.path("storage/local");
    let sign = "openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout k -subj /CN=a.example -out r &&
        printf 'subjectAltName=DNS:a.example' > e &&
        openssl x509 -req -in r -CA authority.pem -CAkey authority.key -CAcreateserial -days 2 -extfile e -out c &&
        ! openssl verify -CAfile authority.pem c";
    let mut shell = Command::new("sh");
    let forged = command::finish(shell.current_dir(&directory).args(["-c", sign]));
    assert_eq!(forged.code, Some(0), "{}", forged.stderr);
    assert!(forged.stderr.contains("permitted subtree violation"), "{}", forged.stderr);
    // It is made once.
    let before = std::fs::read(&authority).expect("it is there");
    let reloads = weft.log().matches(" is ready, ").count();
    weft.signal(rustix::process::Signal::HUP);
    weft.wait_for_log_times(" is ready, ", reloads + 1);
    assert_eq!(std::fs::read(&authority).expect("it is there"), before);
    assert!(curl(&weft, &authority, "localhost").stdout.contains("by HTTP/2.0"));
}

#[test]
fn a_browser_that_trusts_it_uses_http2_for_pages_and_websockets() {
    let (weft, authority) = start();
    let browser = Browser::trusting(&authority);
    browser.open(&format!("https://localhost:{}/", weft.address.port()));
    until("the page and its WebSocket", || {
        (browser.run("return document.title") == "by HTTP/2.0, echo hello").then_some(())
    });
    // One connection did for both: an upgrade has the status 101, a stream 200.
    until("the access log", || weft.log().contains("/echo HTTP/2.0\" 200").then_some(()));
}
