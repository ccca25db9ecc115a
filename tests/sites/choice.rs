//! Which site gets a request: by its host, whatever the host is written like.

use weft_tests::{Running, command};

use crate::{get, server};

const SAY: &str = "<?php echo basename($_SERVER['DOCUMENT_ROOT']), ' ', $_SERVER['SERVER_NAME'], ' ', $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['HTTP_HOST'] ?? '-';";

const FILES: [(&str, &str); 7] = [
    ("one/index.php", SAY),
    ("one/note.txt", "one's"),
    ("one/private/x.txt", "private"),
    ("two/index.php", SAY),
    ("two/note.txt", "two's"),
    ("two/private/x.txt", "public"),
    ("rest/index.php", SAY),
];

const SITES: &str = r#"
[[site]]
names = ["one.example", "*.one.example", "[::1]", "127.0.0.1"]
root = "one"
[[site.rule]]
path = "/private"
deny = 403

[[site]]
names = ["Two.Example", "www.two.one.example"]
root = "two"
try = ["$path", "index.php"]
"#;

fn with_default() -> Running {
    let rest = "[[site]]\nnames = [\"*.rest.example\", \"rest.example\"]\ndefault = true\nroot = \"rest\"\n";
    server(&format!("{SITES}{rest}"), &FILES).start()
}

#[test]
fn the_host_decides_however_it_is_written() {
    let weft = with_default();
    for (host, expected) in [
        ("one.example", "one one.example /index.php one.example"),
        ("ONE.example:8080", "one ONE.example /index.php ONE.example:8080"),
        ("one.example.", "one one.example. /index.php one.example."),
        ("a.b.one.example", "one a.b.one.example /index.php a.b.one.example"),
        ("two.one.example", "one two.one.example /index.php two.one.example"),
        ("www.two.one.example", "two www.two.one.example /index.php www.two.one.example"),
        ("two.example", "two two.example /index.php two.example"),
        ("[::1]:80", "one [::1] /index.php [::1]:80"),
        ("127.0.0.1", "one 127.0.0.1 /index.php 127.0.0.1"),
        ("x.rest.example", "rest x.rest.example /index.php x.rest.example"),
        // Nobody's: the default site, under its own name.
        ("evil.example", "rest rest.example /index.php evil.example"),
        ("xone.example", "rest rest.example /index.php xone.example"),
        ("two.example.evil.example", "rest rest.example /index.php two.example.evil.example"),
    ] {
        assert_eq!(get(&weft, host, "/").text(), expected, "{host}");
    }
    assert_eq!(get(&weft, "one.example", "/note.txt").text(), "one's");
    assert_eq!(get(&weft, "two.example", "/note.txt").text(), "two's");
    assert_eq!(get(&weft, "x.example", "/note.txt").text(), "rest rest.example /index.php x.example");
    // The host of an absolute target goes before the field (RFC 9112 section 3.2.2).
    let absolute = "GET http://two.example/note.txt HTTP/1.1\r\nHost: one.example\r\n\r\n";
    assert_eq!(weft.say(absolute).text(), "two's");
    assert_eq!(weft.say("GET / HTTP/1.0\r\n\r\n").text(), "rest rest.example /index.php -");
}

#[test]
fn a_host_that_no_site_has_is_misdirected() {
    let weft = server(SITES, &FILES).start();
    for host in ["evil.example", "", "xone.example", "example"] {
        let response = get(&weft, host, "/note.txt");
        assert_eq!(response.status, 421, "{host}");
        assert_eq!(get(&weft, host, "/index.php").status, 421, "{host}");
    }
    assert_eq!(weft.say("GET / HTTP/1.0\r\n\r\n").status, 421);
    let mut client = weft.connect();
    for (host, status) in [("one.example", 200), ("no.example", 421), ("two.example", 200)] {
        client.send(format!("GET /note.txt HTTP/1.1\r\nHost: {host}\r\n\r\n"));
        assert_eq!(client.read().status, status, "{host}, on one connection");
    }
    let body = "POST /index.php HTTP/1.1\r\nHost: no.example\r\nContent-Length: 3\r\n\r\nabc";
    assert_eq!(weft.say(body).status, 421);
}

#[test]
fn a_site_has_its_own_rules_and_those_of_all() {
    let configuration = format!("{SITES}[[rule]]\npath = \"/note.txt\"\nheader = {{ X-All = \"yes\" }}\n");
    let weft = server(&configuration, &FILES).start();
    assert_eq!(get(&weft, "one.example", "/private/x.txt").status, 403);
    assert_eq!(get(&weft, "two.example", "/private/x.txt").text(), "public");
    for host in ["one.example", "two.example"] {
        assert_eq!(get(&weft, host, "/note.txt").header("x-all"), Some("yes"), "{host}");
    }
    assert_eq!(get(&weft, "two.example", "/private").text(), "two two.example /index.php two.example");
}

#[test]
fn a_trusted_proxys_host_decides() {
    let trust = "[trust]\nproxies = [\"127.0.0.1\"]\nhost = true\n";
    let weft = server(&format!("{trust}{SITES}"), &FILES).start();
    let ask = |field: &str| {
        weft.say(format!(
            "GET /note.txt HTTP/1.1\r\nHost: one.example\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: {field}\r\n\r\n"
        ))
    };
    assert_eq!((ask("two.example").text(), ask("no.example").status), ("two's".into(), 421));
    let untrusted = server(SITES, &FILES).start();
    let said = untrusted.say(
        "GET /note.txt HTTP/1.1\r\nHost: one.example\r\nX-Forwarded-For: 1.2.3.4\r\nX-Forwarded-Host: two.example\r\n\r\n",
    );
    assert_eq!(said.text(), "one's");
}

#[test]
fn a_script_delegates_within_its_own_site() {
    let send = "<?php header('X-Sendfile: ' . $_GET['f']);";
    let redirect = "<?php header('X-Accel-Redirect: ' . $_GET['f']);";
    let configuration = "[[site]]\nnames = [\"one.example\"]\nroot = \"one\"\naccel_redirect = true\nsendfile = [\"one/files\"]\n\
                         [[site]]\nnames = [\"two.example\"]\nroot = \"two\"\n";
    let mut files = FILES.to_vec();
    files.extend([
        ("one/files/a.txt", "one's file"),
        ("one/send.php", send),
        ("one/go.php", redirect),
        ("two/send.php", send),
        ("two/go.php", redirect),
    ]);
    let weft = server(configuration, &files).start();
    let root = weft.path("").canonicalize().expect("it exists");
    assert_eq!(get(&weft, "one.example", "/send.php?f=files/a.txt").text(), "one's file");
    let others = format!("/send.php?f={}/two/note.txt", root.display());
    assert_eq!(get(&weft, "one.example", &others).status, 404, "outside of what the site may send");
    assert_eq!(get(&weft, "one.example", "/go.php?f=/note.txt").text(), "one's");
    assert_eq!(
        get(&weft, "one.example", "/go.php?f=/index.php").text(),
        "one one.example /index.php one.example"
    );
    let off = get(&weft, "two.example", "/go.php?f=/note.txt");
    assert_eq!((off.text(), off.header("x-accel-redirect")), (String::new(), Some("/note.txt")), "off there");
}

#[test]
fn links_are_followed_as_the_site_says() {
    let configuration = "[[site]]\nnames = [\"one.example\"]\nroot = \"one\"\nsymlinks = \"inside\"\n\
                         [[site]]\nnames = [\"two.example\"]\nroot = \"two\"\n";
    let server = server(configuration, &FILES);
    for site in ["one", "two"] {
        std::os::unix::fs::symlink("../rest/index.php", server.directory().join(site).join("link.php"))
            .expect("a new link");
    }
    let weft = server.start();
    assert_eq!(get(&weft, "one.example", "/link.php").status, 403);
    assert_eq!(get(&weft, "two.example", "/link.php").text(), "two two.example /link.php two.example");
}

#[test]
fn the_check_says_which_site_a_url_is_and_what_it_does() {
    let weft = with_default();
    let said = |url: &str| {
        let output: command::Output = weft.weft(&["check", "--url", url]);
        assert_eq!(output.code, Some(0), "{url}: {}", output.stderr);
        output.stdout
    };
    let one = said("https://a.one.example:8443/private/x.txt?y");
    assert!(one.contains("site          one.example (weft.toml:2)\n"), "{one}");
    assert!(one.contains("weft.toml:5: deny = 403\nanswer        403\n"), "{one}");
    let two = said("http://user@TWO.example/any");
    assert!(
        two.contains("site          two.example (weft.toml:9)\n") && two.contains("/two/index.php\n"),
        "{two}"
    );
    let rest = said("https://evil.example/");
    assert!(rest.contains("(weft.toml:13, the default)\n") && rest.contains("/rest/index.php\n"), "{rest}");
    assert!(said("/x").contains("the default"));
    let none = server(SITES, &FILES).start().weft(&["check", "--url", "https://no.example/"]).stdout;
    assert!(none.contains("answer        421: no site has the name no.example"), "{none}");
    let screen = weft.weft(&["check"]).stdout;
    assert!(screen.contains("site        two.example www.two.one.example: two\n"), "{screen}");
    assert!(screen.contains("site        *.rest.example rest.example (default): rest\n"), "{screen}");
}
