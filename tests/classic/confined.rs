//! `symlinks = "inside"`: no file outside of the document root is sent or run, no matter who changes the links in it,
//! or when.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use weft_tests::{Running, Server};

use super::ask;

const SAYS_INSIDE: &str = "<?php echo 'inside';";

/// A document root that is confined, beside a directory `out` that is not part of it.
fn server(files: &[(&str, &str)]) -> Server {
    Server::of_docroot(files)
        .with("--symlinks", "inside")
        .with_file("out/secret.txt", "outside")
        .with_file("out/secret.php", "<?php echo 'outside';")
        .with_file("out/settings.ini", "user_agent = outside\n")
        .with_file("out/dir/a.txt", "outside")
}

fn link(server: &Server, to: impl AsRef<Path>, name: &str) {
    symlink(to, server.directory().join("public").join(name)).expect("a symbolic link");
}

fn answer(weft: &Running, target: &str) -> (u16, String) {
    let response = weft.get(target);
    (response.status, response.text())
}

#[test]
fn compressed_neighbours_stay_inside_and_show_no_source() {
    let text = "let x = 1; ".repeat(500);
    for which in ["inside", "follow"] {
        let server = Server::of_docroot(&[("a.js", &text), ("b.js", &text), ("c.php", "<?php // SECRET")])
            .with("--symlinks", which)
            .with("--compress-bytes-min", "0")
            .with_file("secret", "outside");
        link(&server, "../secret", "a.js.gz");
        link(&server, "c.php", "b.js.gz");
        let weft = server.start();
        let outside = ask(&weft, "GET", "/a.js", "Accept-Encoding: gzip\r\n");
        let expected = if which == "inside" { text.as_str() } else { "outside" };
        assert_eq!((outside.status, outside.text().as_str()), (200, expected), "{which}");
        let source = ask(&weft, "GET", "/b.js", "Accept-Encoding: gzip\r\n");
        assert_eq!((source.status, source.text()), (200, text.clone()), "{which}");
    }
}

#[test]
fn links_lead_to_what_lies_below() {
    let server = server(&[("in.txt", "inside"), ("in.php", SAYS_INSIDE), ("dir/in.txt", "inside")]);
    let public = server.directory().join("public").canonicalize().expect("it is there");
    for (to, name) in [
        (Path::new("in.txt"), "relative.txt"),
        (&public.join("in.txt"), "absolute.txt"),
        (&public.join("in.php"), "absolute.php"),
        (&public.join("dir"), "there"),
        (Path::new("../public/in.txt"), "round.txt"),
        (Path::new("../out/secret.txt"), "out.txt"),
        (Path::new("../out/secret.php"), "out.php"),
        (&public.join("../out/secret.php"), "far.php"),
        (Path::new("../out"), "outdir"),
    ] {
        link(&server, to, name);
    }
    let weft = server.start();
    for path in
        ["/relative.txt", "/absolute.txt", "/absolute.php", "/absolute.php/x", "/there/in.txt", "/round.txt"]
    {
        assert_eq!(answer(&weft, path), (200, "inside".to_owned()), "{path}");
    }
    for path in [
        "/out.txt",
        "/out.php",
        "/out.php/x",
        "/far.php",
        "/far.php/x",
        "/outdir/dir/a.txt",
        "/outdir/secret.php",
        "/outdir/secret.php/x",
    ] {
        assert_eq!(weft.get(path).status, 403, "{path}");
    }
}

#[test]
fn settings_of_directories_stay_inside() {
    let say = "<?php echo ini_get('user_agent');";
    let server = server(&[
        ("own/.user.ini", "user_agent = inside\n"),
        ("own/a.php", say),
        ("linked/a.php", say),
        ("foreign/a.php", say),
        ("foreign/settings", "user_agent = inside\n"),
    ]);
    link(&server, "../../out/settings.ini", "linked/.user.ini");
    link(&server, "settings", "foreign/.user.ini");
    let weft = server.start();
    assert_eq!(answer(&weft, "/own/a.php"), (200, "inside".to_owned()));
    assert_eq!(answer(&weft, "/linked/a.php"), (200, String::new()));
    assert_eq!(answer(&weft, "/foreign/a.php"), (200, "inside".to_owned()));
}

/// A process that can write to the document root changes a link faster than a server can check it twice.
#[test]
fn a_link_that_changes_while_it_is_looked_at_leads_nowhere() {
    let server = server(&[
        ("a.txt", "inside"),
        ("a.php", SAYS_INSIDE),
        ("sub/a.txt", "inside"),
        ("src.txt", "inside"),
    ])
    .with("--define", "opcache.enable=0");
    let public = server.directory().join("public");
    let weft = server.start();
    let done = AtomicBool::new(false);
    let exchange = |name: &str, with: &str| {
        let (one, other) = (public.join(name), public.join(format!("{name}.other")));
        symlink(with, &other).expect("a symbolic link");
        move || {
            rustix::fs::renameat_with(
                rustix::fs::CWD,
                &one,
                rustix::fs::CWD,
                &other,
                rustix::fs::RenameFlags::EXCHANGE,
            )
            .expect("the test's own files");
        }
    };
    let exchanges = [
        exchange("a.txt", "../out/secret.txt"),
        exchange("a.php", "../out/secret.php"),
        exchange("sub", "../out/dir"),
        exchange("src.txt", "a.php"),
    ];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                exchanges.iter().for_each(|exchange| exchange());
            }
        });
        let mut client = weft.connect();
        for turn in 0..20_000 {
            let target = ["/a.txt", "/a.php", "/sub/a.txt", "/src.txt"][turn % 4];
            client.get(target);
            let response = client.read();
            let fine = match response.status {
                200 => response.text() == "inside",
                status => matches!(status, 403 | 404),
            };
            if !fine {
                done.store(true, Ordering::Relaxed);
            }
            assert!(fine, "{target}: {} {}", response.status, response.text());
        }
        done.store(true, Ordering::Relaxed);
    });
}
