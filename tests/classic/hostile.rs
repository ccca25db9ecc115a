//! A document root full of unexpected names and files: each gets the right answer, none blocks the worker, and PHP
//! source is never sent.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::Command;

use weft_tests::{Running, Server};

use super::ask;

const SCRIPT: &str = "<?php /* SECRET */ echo 'ran ', basename(__FILE__), '|', $_SERVER['PATH_INFO'];";
const FRONT: &str = "<?php /* SECRET */ echo 'front|', $_SERVER['PATH_INFO'];";

/// A path as a client must write it: everything except letters and digits is encoded.
fn encoded(name: &[u8]) -> String {
    let byte = |byte: &u8| match byte {
        b'/' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(*byte).to_string(),
        other => format!("%{other:02x}"),
    };
    name.iter().map(byte).collect()
}

fn write(public: &Path, name: &[u8], text: &str) {
    let path = public.join(OsStr::from_bytes(name));
    let made = std::fs::create_dir_all(path.parent().expect("it lies in public"));
    made.and_then(|()| std::fs::write(&path, text)).expect("a file of the test's own");
}

/// A server whose worker cannot read every file, because it has dropped root's rights.
fn server() -> Server {
    let server = Server::of_docroot(&[("index.php", FRONT), ("a.php", SCRIPT), ("a.txt", "text")])
        .with("--instances", "3")
        .with("--define", "display_errors=0");
    let directory = server.directory().to_owned();
    let mode = |path: &Path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755));
    mode(&directory).and_then(|()| mode(&directory.join("public"))).expect("the test's own directories");
    if rustix::process::geteuid().is_root() { server.with("--user", "nobody") } else { server }
}

/// The answer to the target. Whatever it is, it contains no source.
fn answer(weft: &Running, target: &str) -> (u16, String) {
    let response = weft.get(target);
    let text = response.text();
    assert!(!text.contains("SECRET") && !text.contains("<?php"), "{target}: {text}");
    (response.status, text)
}

#[test]
fn names_are_bytes() {
    let server = server();
    let public = server.directory().join("public");
    let long = vec![b'x'; 251];
    let names: [&[u8]; 19] = [
        b"sp ace",
        b"q\"uo'te",
        b"per%cent",
        b"per%2e",
        b"new\nline",
        b"cr\r",
        b"tab\t",
        b"bad\xff\xfe",
        b"semi;x",
        b"q?mark",
        b"ha#sh",
        b"pl+us",
        b"-n",
        b"--",
        b"~",
        b"a..",
        b"\xe2\x80\xaeabc",
        b"$path",
        &long,
    ];
    for name in names {
        write(&public, &[name, b".php"].concat(), SCRIPT);
        write(&public, &[name, b".txt"].concat(), "text");
        write(&public, &[b"in/", name, b"/index.php"].concat(), SCRIPT);
    }
    let weft = server.start();
    for name in names {
        let (url, shown) = (encoded(name), String::from_utf8_lossy(name));
        assert_eq!(answer(&weft, &format!("/{url}.php")), (200, format!("ran {shown}.php|")));
        assert_eq!(answer(&weft, &format!("/{url}%2ephp/x%2fy")), (200, format!("ran {shown}.php|/x/y")));
        assert_eq!(answer(&weft, &format!("/{url}.txt")), (200, "text".to_owned()), "{shown}");
        assert_eq!(answer(&weft, &format!("/in/{url}/")), (200, "ran index.php|".to_owned()), "{shown}");
        let moved = weft.get(&format!("/in/{url}"));
        let to = moved.header("location").expect("a redirection").to_owned();
        assert_eq!((moved.status, answer(&weft, &to).1), (301, "ran index.php|".to_owned()), "{to}");
    }
}

#[test]
fn a_file_that_only_looks_like_a_script_is_not_sent() {
    let server = server();
    let public = server.directory().join("public");
    let sources: [&[u8]; 16] = [
        b"UP.PHP",
        b"dot.php.",
        b"space.php ",
        b"nl.php\n",
        b"plus.php+",
        b"a.php::$DATA",
        b"x.php;.jpg",
        b"x.php,v",
        b"x.php-",
        b"x.php~",
        b"x.php.jpg",
        b"x.Php5",
        b"x.php.gz",
        b"x.phtml",
        b"sub/x.PHAR",
        b"\xff.php\xff",
    ];
    for name in sources {
        write(&public, name, SCRIPT);
    }
    write(&public, b".php", SCRIPT);
    write(&public, b"dir.php/index.php", SCRIPT);
    write(&public, b"dir.php/in.txt", "text");
    write(&public, b"dir.php/sub/x.php", SCRIPT);
    write(&public, b"picture.jpg", "text");
    let weft = server.start();
    for name in sources {
        assert_eq!(answer(&weft, &format!("/{}", encoded(name))).0, 404, "{name:?}");
        let below = answer(&weft, &format!("/{}/x.jpg", encoded(name)));
        assert_eq!(below, (200, "front|".to_owned()), "{name:?}");
    }
    for (target, status, says) in [
        ("/index.php/foo.jpg", 200, "front|/foo.jpg"),
        ("/a.php/foo.jpg", 200, "ran a.php|/foo.jpg"),
        ("/a.php%2ffoo.txt", 200, "ran a.php|/foo.txt"),
        ("/a.php/b.php", 200, "ran a.php|/b.php"),
        ("/picture.jpg/x.php", 404, "404 Not Found\n"),
        ("/picture.jpg%0a.php", 404, "404 Not Found\n"),
        ("/a.php.", 200, "front|"),
        ("/a.php%20", 200, "front|"),
        ("/a.php%0a", 200, "front|"),
        ("/A.PHP", 200, "front|"),
        ("/dir.php/", 200, "ran index.php|"),
        ("/dir.php/in.txt", 200, "text"),
        ("/dir.php/none", 404, "404 Not Found\n"),
        ("/dir.php/sub/x.php/y", 200, "ran x.php|/y"),
        ("/.php", 404, "404 Not Found\n"),
        ("/picture.jpg/.php", 404, "404 Not Found\n"),
        ("/a.php%5cx", 404, "404 Not Found\n"),
        ("/a.php%00.jpg", 400, "400 Bad Request\n"),
        ("/a.txt%00.php", 400, "400 Bad Request\n"),
        ("/a.php/../a.txt", 400, "400 Bad Request\n"),
    ] {
        assert_eq!(answer(&weft, target), (status, says.to_owned()), "{target}");
    }
    assert_eq!(weft.get("/dir.php").header("location"), Some("/dir.php/"));
}

#[test]
fn names_too_long_for_a_file_are_not_files() {
    let weft = server().start();
    let (name, path) = ("z".repeat(300), "z/".repeat(3000));
    for target in [format!("/{name}"), format!("/{path}")] {
        assert_eq!(answer(&weft, &target), (200, "front|".to_owned()));
        assert_eq!(answer(&weft, &format!("{target}.php")), (404, "404 Not Found\n".to_owned()));
    }
    let info = "p".repeat(5000);
    assert_eq!(answer(&weft, &format!("/a.php/{info}")), (200, format!("ran a.php|/{info}")));
    assert_eq!(answer(&weft, &format!("/{}", "z".repeat(20_000))).0, 414);
}

#[test]
fn a_name_that_is_not_a_regular_file_blocks_no_request() {
    let server = server();
    let public = server.directory().join("public");
    let pipes = ["pipe.php", "pipe.txt", "script.js.gz", "dir/index.php"].map(|name| public.join(name));
    write(&public, b"script.js", &"let x; ".repeat(1000));
    std::fs::create_dir(public.join("dir")).expect("a new directory");
    assert!(Command::new("mkfifo").args(pipes).status().is_ok_and(|status| status.success()));
    let _sockets =
        ["sock.php", "sock.txt"].map(|name| UnixListener::bind(public.join(name)).expect("a socket"));
    for (to, name) in [
        ("/dev/zero", "zero.php"),
        ("/dev/zero", "zero.txt"),
        ("/dev/stdin", "stdin.txt"),
        ("pipe.php", "fifo.php"),
        ("loop.php", "loop.php"),
        ("loop.txt", "other.txt"),
        ("other.txt", "loop.txt"),
        ("nowhere", "dangling.php"),
        ("/proc/self/fd", "fds.php"),
    ] {
        symlink(to, public.join(name)).expect("a symbolic link");
    }
    let weft = server.start();
    let names = "pipe.php pipe.txt sock.php sock.txt zero.php zero.txt stdin.txt fifo.php loop.php loop.txt other.txt dangling.php";
    for name in names.split(' ').chain(["dir/", "fds.php/0", "pipe.php/x", "zero.php/x"]) {
        let expected = if name.contains(".php") { (404, "404 Not Found\n") } else { (200, "front|") };
        assert_eq!(answer(&weft, &format!("/{name}")), (expected.0, expected.1.to_owned()), "{name}");
    }
    let script = ask(&weft, "GET", "/script.js", "Accept-Encoding: gzip\r\n");
    assert_eq!(
        (script.status, script.header("content-encoding")),
        (200, Some("gzip")),
        "made, not read from a pipe"
    );
}

#[test]
fn links_do_not_show_the_source_of_scripts() {
    for which in ["follow", "inside"] {
        let server = server().with("--symlinks", which);
        let public = server.directory().join("public");
        write(&public, b"../out.php", SCRIPT);
        write(&public, b"picture.jpg", "<?php echo 'ran';");
        for (to, name) in [
            ("a.php", "link.txt"),
            ("link.txt", "again.jpg"),
            ("a.php", "link"),
            ("a.txt", "text.css"),
            ("a.php", "other.php"),
            ("picture.jpg", "picture.php"),
            (".", "self"),
        ] {
            symlink(to, public.join(name)).expect("a symbolic link");
        }
        symlink(public.join("../out.php"), public.join("out.txt")).expect("a symbolic link");
        let weft = server.start();
        for name in ["link.txt", "again.jpg", "link", "self/self/link.txt"] {
            assert_eq!(answer(&weft, &format!("/{name}")).0, 404, "{which}: {name}");
        }
        assert_eq!(answer(&weft, "/out.txt").0, if which == "inside" { 403 } else { 404 });
        assert_eq!(answer(&weft, "/text.css"), (200, "text".to_owned()));
        assert_eq!(answer(&weft, "/other.php"), (200, "ran a.php|".to_owned()));
        assert_eq!(answer(&weft, "/self/self/a.php/x"), (200, "ran a.php|/x".to_owned()));
        assert_eq!(
            answer(&weft, "/picture.php"),
            (200, "ran".to_owned()),
            "its own name says that it is a script"
        );
    }
}

#[test]
fn an_unreadable_file_is_403() {
    let server = server();
    let public = server.directory().join("public");
    for (name, text) in [(&b"locked.php"[..], SCRIPT), (b"locked.txt", "text"), (b"closed/a.txt", "text")] {
        write(&public, name, text);
    }
    for name in ["locked.php", "locked.txt", "closed"] {
        let mode = std::fs::Permissions::from_mode(0o000);
        std::fs::set_permissions(public.join(name), mode).expect("the test's own file");
    }
    let mut weft = server.start();
    for _ in 0..2 {
        assert_eq!(answer(&weft, "/locked.txt").0, 403);
        assert_eq!(answer(&weft, "/locked.php").0, 403);
        assert_eq!(answer(&weft, "/locked.php/x").0, 403);
    }
    weft.wait_for_log("Failed opening required");
    // The worker cannot tell what is in there.
    assert_eq!(answer(&weft, "/closed/a.txt"), (200, "front|".to_owned()));
    let open = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(weft.path("public/closed"), open).expect("so that it can be removed");
}
