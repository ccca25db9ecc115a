//! Which file or script answers a path.

use weft_tests::{Running, Server, until};

use super::ask;

const SAY: &str = "<?php echo basename(__DIR__), '/', basename(__FILE__), ' ', $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['PATH_INFO'], ' ', $_SERVER['PHP_SELF'];";

fn site() -> Running {
    let files = [
        ("index.php", SAY),
        ("page.php", SAY),
        ("blog/index.php", SAY),
        ("docs/index.html", "<p>docs"),
        ("empty/note.txt", "note"),
        ("a b+ü.txt", "odd name"),
    ];
    Server::of_docroot(&files).start()
}

#[test]
fn a_path_is_a_script_a_directory_or_the_front_controllers() {
    let weft = site();
    for (path, expected) in [
        ("/", "public/index.php /index.php  /index.php"),
        ("/page.php", "public/page.php /page.php  /page.php"),
        ("/page.php/x/y", "public/page.php /page.php /x/y /page.php/x/y"),
        ("/page.php/", "public/page.php /page.php / /page.php/"),
        ("/index.php/a%20b", "public/index.php /index.php /a b /index.php/a b"),
        ("/blog/", "blog/index.php /blog/index.php  /blog/index.php"),
        ("/blog/index.php/2024", "blog/index.php /blog/index.php /2024 /blog/index.php/2024"),
        ("/no/such/page", "public/index.php /index.php  /index.php"),
        ("//page.php", "public/page.php /page.php  /page.php"),
        ("/docs/", "<p>docs"),
        ("/a%20b+%C3%BC.txt", "odd name"),
    ] {
        let response = weft.get(path);
        assert_eq!((response.status, response.text().as_str()), (200, expected), "{path}");
    }
}

#[test]
fn a_directory_without_its_slash_is_redirected_on_this_host() {
    let weft = site();
    for (target, location) in
        [("/blog", "/blog/"), ("/blog?a=1&b", "/blog/?a=1&b"), ("//blog", "/blog/"), ("/docs", "/docs/")]
    {
        let response = weft.get(target);
        assert_eq!((response.status, response.header("location")), (301, Some(location)), "{target}");
    }
    assert_eq!(
        ask(&weft, "POST", "/blog", "Content-Length: 0\r\n").status,
        308,
        "a form is not lost on the way"
    );
}

#[test]
fn without_a_front_controller_a_missing_file_is_404_and_a_bare_directory_403() {
    let weft = Server::of_docroot(&[("page.php", SAY), ("empty/note.txt", "note")]).start();
    for (path, status) in [
        ("/", 403),
        ("/empty/", 403),
        ("/empty", 403),
        ("/nothing", 404),
        ("/no.php", 404),
        ("/page.php", 200),
    ] {
        assert_eq!(weft.get(path).status, status, "{path}");
    }
}

#[test]
fn rules_are_configuration() {
    let files = [("app.php", SAY), ("index.php", SAY), ("a.txt", "text")];
    let weft = Server::of_docroot(&files).with("--try", "$path").with("--try", "app.php").start();
    assert_eq!(weft.get("/").text(), "public/app.php /app.php  /app.php");
    assert_eq!(weft.get("/a.txt").text(), "text");
    assert_eq!(weft.get("/other").text(), "public/app.php /app.php  /app.php");
}

#[test]
fn what_climbs_or_is_malformed_is_refused() {
    let weft = site();
    weft.write("secret.txt", "secret");
    for path in [
        "/../secret.txt",
        "/%2e%2e/secret.txt",
        "/blog/..%2f..%2fsecret.txt",
        "/%00",
        "/a%",
        "/%zz",
        "/..",
        "/blog/%2E%2E/%2E%2E/secret.txt",
    ] {
        let response = weft.get(path);
        assert_eq!(response.status, 400, "{path}");
        assert!(!response.text().contains("secret"), "{path}");
    }
    // Encoded twice, it is an ordinary name, and no file has it.
    for path in ["/%252e%252e/secret.txt", "/..%255csecret.txt", "/....//secret.txt"] {
        assert!(!weft.get(path).text().contains("secret"), "{path}");
    }
}

#[test]
fn hidden_files_and_sources_are_never_sent() {
    let hostile = [
        ".env",
        ".git/config",
        ".htaccess",
        ".user.ini",
        "a/.hidden",
        "config.php~",
        "config.phpbak",
        "config.phpold",
        "config.phpold.txt",
        "config.php.bak",
        "config.php.swp",
        "CONFIG.PHP",
        "lib.phtml",
        "lib.phar",
        "lib.phps",
        "lib.inc",
        "lib.php5",
        "wp-config.php_old",
        "#x.php#",
        "x.pHp.txt",
        "back\\slash.txt",
    ];
    let mut files: Vec<(&str, &str)> = hostile.iter().map(|name| (*name, "<?php // SECRET")).collect();
    files.extend([(".well-known/acme-challenge/token", "public"), ("plain.txt", "public")]);
    let weft = Server::of_docroot(&files).start();
    for name in hostile {
        let encoded = name.replace('#', "%23").replace('\\', "%5c");
        for path in [
            format!("/{encoded}"),
            format!("/{}", encoded.replace('.', "%2e")),
            format!("//{encoded}"),
            format!("/{encoded}/"),
        ] {
            let response = weft.get(&path);
            assert_eq!(response.status, 404, "{path}");
            assert!(!response.text().contains("SECRET"), "{path}");
        }
    }
    assert_eq!(weft.get("/.well-known/acme-challenge/token").text(), "public");
    assert_eq!(weft.get("/plain.txt").text(), "public");
}

#[test]
fn symbolic_links_are_followed_or_kept_inside() {
    let outside = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(outside.path().join("out.txt"), "outside").expect("a file of the test's own");
    std::fs::write(outside.path().join("out.php"), "<?php echo 'outside';")
        .expect("a file of the test's own");
    let with_links = |which: &str| {
        let server = Server::of_docroot(&[("in.txt", "inside")]).with("--symlinks", which);
        let public = server.directory().join("public");
        let link = |to: &std::path::Path, name: &str| {
            std::os::unix::fs::symlink(to, public.join(name)).expect("a symbolic link");
        };
        link(&outside.path().join("out.txt"), "out.txt");
        link(&outside.path().join("out.php"), "out.php");
        link(std::path::Path::new("in.txt"), "link.txt");
        link(std::path::Path::new("nowhere"), "dangling.txt");
        server.start()
    };
    let follow = with_links("follow");
    assert_eq!(
        (follow.get("/out.txt").text(), follow.get("/out.php").text()),
        ("outside".into(), "outside".into())
    );
    let inside = with_links("inside");
    assert_eq!((inside.get("/out.txt").status, inside.get("/out.php").status), (403, 403));
    for weft in [&follow, &inside] {
        assert_eq!(weft.get("/link.txt").text(), "inside");
        assert_eq!(weft.get("/dangling.txt").status, 404);
    }
}

#[test]
fn check_and_the_banner_say_what_is_served() {
    let mut weft = site();
    assert!(weft.log().contains("public (classic mode)"), "{}", weft.log());
    let said = weft.weft(&["check", "public"]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
    assert!(said.stdout.contains("classic: each request has PHP to itself"), "{}", said.stdout);
    assert!(said.stdout.contains("/ is ") && said.stdout.contains("public/index.php"), "{}", said.stdout);
    let said = weft.weft(&["check", "public", "--run-as", "coroutine"]);
    assert!(said.stderr.contains("a document root, which runs in classic mode"), "{}", said.stderr);
    assert!(weft.is_alive());
}

#[test]
fn what_an_htaccess_file_denies_is_refused_and_what_should_be_hidden_is_named() {
    let files = [
        ("index.php", "<?php echo 'front';"),
        ("doku.php", "<?php echo 'wiki';"),
        ("README", "read me"),
        (
            ".htaccess",
            "<Files ~ \"^(README|VERSION)$\">\nRequire all denied\n</Files>\nRewriteRule ^secret - [F]\n",
        ),
        ("data/.htaccess", "Order allow,deny\nDeny from all\n"),
        ("data/pages/start.txt", "private"),
        ("data/run.php", "<?php echo 'ran';"),
        ("data/media/.htaccess", "Require all granted\n"),
        ("data/media/a.png", "png"),
        ("conf/users.auth", "passwords"),
        ("lib/style.css", "css"),
    ];
    let mut weft = Server::of_docroot(&files).start();
    for (path, status) in [
        ("/", 200),
        ("/doku.php", 200),
        ("/lib/style.css", 200),
        ("/data/media/a.png", 200),
        ("/README", 403),
        ("/data/pages/start.txt", 403),
        ("/data/run.php", 403),
        ("/data//pages/./start.txt", 403),
        ("/conf/users.auth", 200),
    ] {
        assert_eq!(weft.get(path).status, status, "{path}");
    }
    weft.wait_for_log("/public/conf is served: DokuWiki does not mean it to be public");
    weft.wait_for_log("RewriteRule ^secret - [F]: not applied");
    weft.write("public/conf/.htaccess", "Require all denied\n");
    until("the new denial to count", || (weft.get("/conf/users.auth").status == 403).then_some(()));
    let check = weft.weft(&["check", "public"]);
    assert!(check.stdout.contains("RewriteRule ^secret - [F]: not applied"), "{}", check.stdout);
    assert!(
        !check.stdout.contains("/data is served") && !check.stdout.contains("/conf is served"),
        "{}",
        check.stdout
    );
    let open = Server::of_docroot(&files).with("--htaccess", "false").start();
    assert_eq!(open.get("/README").text(), "read me");
}
