//! The rules of `[[rule]]`, and attempts to slip past those that keep clients away.

use base64::Engine;
use weft_tests::{Running, Server, command};

use super::ask;

const SAY: &str = "<?php echo $_SERVER['SCRIPT_NAME'], '|', $_SERVER['PATH_INFO'], '|', $_SERVER['QUERY_STRING'], '|', $_SERVER['REQUEST_URI'], '|', $_SERVER['REMOTE_USER'];";

fn site(files: &[(&str, &str)], rules: &str) -> Running {
    Server::of_docroot(files).with_file("weft.toml", rules).start()
}

#[test]
fn a_denied_path_has_no_other_spelling() {
    let files = [
        ("index.php", SAY),
        ("secret/x.php", "<?php echo 'leaked';"),
        ("secret/index.php", "<?php echo 'leaked';"),
        ("secret/note.txt", "leaked"),
        ("secret/deep/note.txt", "leaked"),
        ("secrets/note.txt", "public"),
        ("up/x.php", "<?php echo 'leaked';"),
        ("up/d/index.php", "<?php echo 'leaked';"),
        ("up/a.png", "public"),
        ("up/ok/x.php", "<?php echo 'public';"),
    ];
    let weft = site(
        &files,
        "[[rule]]\npath = \"/secret/\"\ndeny = 404\n\
         [[rule]]\npath = \"/up/ok\"\nallow = true\n\
         [[rule]]\nmatch = '^/up/.*\\.php$'\ndeny = 403\n",
    );
    for path in [
        "/secret",
        "/secret/",
        "/secret/note.txt",
        "//secret/note.txt",
        "/./secret/note.txt",
        "/secret//note.txt",
        "/secret/./note.txt",
        "/%73ecret/note.txt",
        "/secret%2fnote.txt",
        "/secret/%6eote.txt",
        "/SECRET/note.txt",
        "/secret/x.php",
        "/secret/x.php/y",
        "/secret/x.php/",
        "/secret/x.php%2fy",
        "/secret/deep/note.txt?a=b",
        "/secret/?x",
        "/secret/index.php",
        "/Secret/x.php/../y",
        "/secret/none",
    ] {
        let response = weft.get(path);
        let status = if path.contains("..") { 400 } else { 404 };
        assert_eq!(response.status, status, "{path}");
        assert!(!response.text().contains("leaked"), "{path}");
    }
    for path in [
        "/up/x.php",
        "/up/x.php/y",
        "/up/x.php/",
        "/up//x.php/y.png",
        "/up/d/",
        "/up/d/index.php",
        "/up/%78.php",
        "/up/x.php/a.png?x",
        "/up/x%2Ephp",
    ] {
        let response = weft.get(path);
        assert_eq!(response.status, 403, "{path}");
        assert!(!response.text().contains("leaked"), "{path}");
    }
    for method in ["POST", "HEAD", "OPTIONS", "PUT"] {
        assert_eq!(ask(&weft, method, "/secret/x.php", "Content-Length: 0\r\n").status, 404, "{method}");
    }
    // By an absolute target, and without a line feed hiding it.
    for target in
        ["http://weft.test/secret/note.txt", "http://weft.test//secret/note.txt", "/secret%0a/../secret/x"]
    {
        assert!(matches!(ask(&weft, "GET", target, "").status, 400 | 404), "{target}");
    }
    assert_eq!(weft.get("/secrets/note.txt").text(), "public");
    assert_eq!(weft.get("/up/a.png").text(), "public");
    assert_eq!(weft.get("/up/ok/x.php").text(), "public");
    assert_eq!(weft.get("/other").text(), "/index.php|||/other|");
}

#[test]
fn a_fallback_of_try_does_not_lead_past_a_rule() {
    let weft = Server::of_docroot(&[("app/index.php", SAY), ("a.txt", "text")])
        .with_file(
            "weft.toml",
            "[classic]\ntry = [\"$path\", \"app/index.php\"]\n[[rule]]\npath = \"/app\"\ndeny = 403\n",
        )
        .start();
    assert_eq!((weft.get("/none").status, weft.get("/a.txt").status), (403, 200));
}

#[test]
fn a_redirect_keeps_its_host_and_the_query() {
    let weft = site(
        &[("index.php", SAY)],
        "[[rule]]\npath = \"/old\"\nredirect = \"/new$1\"\nstatus = 301\n\
         [[rule]]\nmatch = '^/go(.*)$'\nredirect = \"/$1\"\n\
         [[rule]]\nmatch = '^/to/(.*)$'\nredirect = \"https://a.example/x?from=$1\"\nstatus = 308\n\
         [[rule]]\npath = \"/bare\"\nredirect = \"/plain?\"\n",
    );
    for (target, status, location) in [
        ("/old", 301, "/new"),
        ("/old/a%20b?c=d", 301, "/new/a%20b?c=d"),
        ("/go/evil.example/x", 302, "/evil.example/x"),
        ("/go//evil.example", 302, "/evil.example"),
        ("/go%0d%0aX-Y:%20z", 302, "/%0D%0AX-Y:%20z"),
        ("/to/a&b=c", 308, "https://a.example/x?from=a%26b%3Dc"),
        ("/to/a?q", 308, "https://a.example/x?from=a&q"),
        ("/bare?q", 302, "/plain"),
    ] {
        let response = weft.get(target);
        assert_eq!((response.status, response.header("location")), (status, Some(location)), "{target}");
        assert_eq!(response.header("x-y"), None);
    }
}

#[test]
fn a_rewrite_changes_path_and_query_but_not_what_was_asked() {
    let files = [
        ("doku.php", SAY),
        ("lib/exe/fetch.php", SAY),
        ("lib/real.txt", "real"),
        ("private/x.txt", "leaked"),
        ("private/x.php", "<?php echo 'leaked';"),
        ("open/x.txt", "open"),
    ];
    let weft = site(
        &files,
        "[[rule]]\npath = \"/private\"\ndeny = 403\n\
         [[rule]]\nmatch = '^/_media/(.*)$'\nrewrite = \"/lib/exe/fetch.php?media=$1\"\n\
         [[rule]]\nmatch = '^/files/(.*)$'\nrewrite = \"/$1\"\n\
         [[rule]]\nmatch = '^/(.*)$'\nmissing = true\nrewrite = \"/doku.php?id=$1\"\n",
    );
    for (target, expected) in [
        (
            "/_media/wiki/logo.png?w=200",
            "/lib/exe/fetch.php||media=wiki/logo.png&w=200|/_media/wiki/logo.png?w=200|",
        ),
        ("/wiki:page", "/doku.php||id=wiki:page|/wiki:page|"),
        ("/a%20b%26id=c?do=edit", "/doku.php||id=a%20b%26id%3Dc&do=edit|/a%20b%26id=c?do=edit|"),
        ("/lib/real.txt", "real"),
        ("/doku.php/x?id=y", "/doku.php|/x|id=y|/doku.php/x?id=y|"),
        ("/files/open/x.txt", "open"),
    ] {
        assert_eq!(weft.get(target).text(), expected, "{target}");
    }
    for path in
        ["/files/private/x.txt", "/files//private/x.txt", "/files/./private/x.php", "/files/PRIVATE/x.txt"]
    {
        assert_eq!(weft.get(path).status, 403, "{path}");
    }
    assert_eq!(weft.get("/files/.git").status, 404);
}

#[test]
fn a_script_that_is_missing_is_404_unless_a_rule_is_for_scripts_alone() {
    let weft = site(
        &[("index.php", SAY), ("dir.php/x.php", SAY)],
        "[[rule]]\nmatch = '^/old/(.*)\\.php$'\nmissing = true\nredirect = \"/new/$1\"\n\
         [[rule]]\npath = \"/gone.php\"\nmissing = true\nrewrite = \"/index.php?gone\"\n\
         [[rule]]\npath = \"/closed\"\nmissing = true\ndeny = 410\n\
         [[rule]]\nmatch = '^/go/(.*)$'\nmissing = true\nredirect = \"/$1\"\n\
         [[rule]]\nmatch = '^/(.*)$'\nmissing = true\nrewrite = \"/index.php?q=$1\"\n",
    );
    for (path, status) in [
        ("/nice", 200),
        ("/nice.phpx", 200),
        ("/nice.PHP", 200),
        ("/index.php/more.php", 200),
        ("/dir.php/x.php", 200),
        ("/nice.php", 404),
        ("/nice.php/more", 404),
        ("/nice.php/", 404),
        ("/go/nice", 302),
        ("/go/nice.php", 404),
        ("/old/nice.php", 302),
        ("/gone.php", 200),
        ("/closed/nice.php", 410),
    ] {
        assert_eq!(weft.get(path).status, status, "{path}");
    }
}

#[test]
fn php_gets_the_rewritten_query_in_its_superglobals() {
    let weft = site(
        &[("page.php", "<?php echo json_encode($_GET), filter_input(INPUT_GET, 'id');")],
        "[[rule]]\npath = \"/p\"\nrewrite = \"/page.php?id=$1\"\n",
    );
    assert_eq!(weft.get("/p/a%26b?x[]=1").text(), r#"{"id":"\/a&b","x":["1"]}/a&b"#);
    assert_eq!(weft.get("/page.php?id=2").text(), r#"{"id":"2"}2"#);
}

#[test]
fn an_alias_is_a_directory_of_its_own() {
    let server = Server::of_docroot(&[("index.php", SAY), ("tools/inside.txt", "inside")])
        .with_file("elsewhere/index.php", "<?php echo __FILE__, '|', $_SERVER['SCRIPT_NAME'], '|', $_SERVER['PATH_INFO'], '|', $_SERVER['SCRIPT_FILENAME'], '|', basename($_SERVER['DOCUMENT_ROOT']);")
        .with_file("elsewhere/style.css", "css")
        .with_file("elsewhere/sub/page.php", "<?php echo 'page';")
        .with_file("elsewhere/setup/index.php", "<?php echo 'leaked';")
        .with_file("elsewhere/lib/.htaccess", "Require all denied\n")
        .with_file("elsewhere/lib/x.php", "<?php echo 'leaked';")
        .with_file("secret.txt", "leaked")
        .with_file(
            "weft.toml",
            "[[rule]]\npath = \"/tools\"\nalias = \"elsewhere\"\n[[rule]]\npath = \"/tools/setup\"\ndeny = 404\n",
        );
    let weft = server.start();
    let at = weft.path("elsewhere").canonicalize().expect("it exists").display().to_string();
    for (path, expected) in [
        ("/tools/", format!("{at}/index.php|/tools/index.php||{at}/index.php|public")),
        ("/tools/index.php/x", format!("{at}/index.php|/tools/index.php|/x|{at}/index.php|public")),
        ("/tools/style.css", "css".into()),
        ("/tools/sub/page.php", "page".into()),
        ("/toolsx", "/index.php|||/toolsx|".into()),
    ] {
        assert_eq!(weft.get(path).text(), expected, "{path}");
    }
    let response = weft.get("/tools/sub");
    assert_eq!((response.status, response.header("location")), (403, None), "it has no index");
    assert_eq!(weft.get("/tools").header("location"), Some("/tools/"));
    for (path, status) in [
        ("/tools/inside.txt", 404),
        ("/tools/none", 404),
        ("/tools/setup/", 404),
        ("/tools/setup/index.php", 404),
        ("/tools/lib/x.php", 403),
        ("/tools/../secret.txt", 400),
        ("/tools%2f..%2fsecret.txt", 400),
        ("/tools../secret.txt", 200),
    ] {
        let response = weft.get(path);
        assert_eq!(response.status, status, "{path}");
        assert!(!response.text().contains("leaked"), "{path}");
    }
}

#[test]
fn fields_are_added_to_files_and_scripts_unless_they_have_them() {
    let weft = site(
        &[("a.css", "css"), ("page.php", "<?php header('X-Frame-Options: SAMEORIGIN'); echo 'x';")],
        "[[rule]]\npath = \"/a.css\"\nheader = { Cache-Control = \"max-age=60\" }\n\
         [[rule]]\npath = \"/\"\nheader = { X-Frame-Options = \"DENY\", Cache-Control = \"no-store\", X-A = \"b\" }\n",
    );
    let css = weft.get("/a.css");
    assert_eq!(css.header("cache-control"), Some("max-age=60"), "the first rule counts");
    assert_eq!((css.header("x-frame-options"), css.header("x-a")), (Some("DENY"), Some("b")));
    let page = weft.get("/page.php");
    assert_eq!(
        (page.header("x-frame-options"), page.header("cache-control")),
        (Some("SAMEORIGIN"), Some("no-store"))
    );
    assert_eq!(weft.get("/none").header("x-a"), Some("b"), "errors have them too");
    let mut client = weft.connect();
    for _ in 0..2 {
        client.get("/a.css");
        assert_eq!(client.read().header("x-a"), Some("b"), "on each request of a connection");
    }
}

/// The password is "right: ü", in each form.
const USERS: &str = "# people\n\
    sha:{SHA}jYGu/kM/PVNX1CqxzvbqC0fOqls=\n\
    apr:$apr1$saltsalt$rH2rDidBL22s940i0xk9S1\n\
    bcrypt:$2y$04$UBO8dOY7OMvJQhTm/e9I6egJ559PWFjQJdlTB8MAzEJEhoK8BSHRO:a comment\n\n\
    sha256:$5$saltsalt$nsQcRF25FT40mC5JCXAM6rrAmNwvRsh0/FOqqMJom58\n\
    sha512:$6$saltsalt$6FkXmCrkJ0Px3TutS2IE/Urt0fxFYAGQxHTimYYSmhMoNckhIdrkH7QTvAk8GwGDPtYPN7c6pLTFghoYwaEB5.\n";

fn basic(text: &str) -> String {
    format!("Authorization: Basic {}\r\n", base64::engine::general_purpose::STANDARD.encode(text))
}

#[test]
fn a_password_is_asked_for_and_names_the_user() {
    let weft = Server::of_docroot(&[
        ("index.php", SAY),
        ("admin/x.php", SAY),
        ("admin/a.txt", "text"),
        ("admin/free/a.txt", "free"),
    ])
    .with_file("users", USERS)
    .with_file(
        "weft.toml",
        "[[rule]]\npath = \"/admin/free\"\nallow = true\n\
             [[rule]]\npath = \"/admin\"\nauth = \"users\"\nrealm = \"Staff\"\n",
    )
    .start();
    for name in ["sha", "apr", "bcrypt", "sha256", "sha512"] {
        let response = ask(&weft, "GET", "/admin/x.php", &basic(&format!("{name}:right: ü")));
        assert_eq!(response.text(), format!("/admin/x.php|||/admin/x.php|{name}"));
    }
    assert_eq!(ask(&weft, "GET", "/admin/a.txt", &basic("sha:right: ü")).text(), "text");
    assert_eq!(weft.get("/admin/free/a.txt").text(), "free");
    for path in ["/admin", "/admin/x.php", "//admin/a.txt", "/ADMIN/a.txt", "/%61dmin/x.php/y", "/admin/none"]
    {
        let response = weft.get(path);
        assert_eq!(response.status, 401, "{path}");
        assert_eq!(response.header("www-authenticate"), Some("Basic realm=\"Staff\", charset=\"UTF-8\""));
    }
    for wrong in ["sha:wrong", "sha:", "sha", ":right: ü", "nobody:right: ü", "sha:right: ü ", "SHA:right: ü"]
    {
        assert_eq!(ask(&weft, "GET", "/admin/a.txt", &basic(wrong)).status, 401, "{wrong}");
    }
    for header in ["Authorization: Basic %%%\r\n", "Authorization: Bearer x\r\n", "Authorization: Basic\r\n"]
    {
        assert_eq!(ask(&weft, "GET", "/admin/a.txt", header).status, 401, "{header}");
    }
    assert_eq!(weft.get("/").text(), "/index.php|||/|", "no user without a rule");
}

#[test]
fn a_body_is_as_long_as_its_path_allows() {
    let weft = Server::of_docroot(&[
        ("up.php", "<?php echo strlen(file_get_contents('php://input'));"),
        ("a.php", "<?php echo strlen(file_get_contents('php://input'));"),
    ])
    .with_file(
        "weft.toml",
        "[limits]\nbody_bytes_max = 1000\n[[rule]]\npath = \"/up.php\"\nbody_bytes_max = \"2KiB\"\n\
             [[rule]]\npath = \"/none\"\nbody_bytes_max = 0\n",
    )
    .start();
    let post = |path: &str, length: usize, chunked: bool| {
        let body = "x".repeat(length);
        let (field, body) = if chunked {
            ("Transfer-Encoding: chunked".to_owned(), format!("{length:x}\r\n{body}\r\n0\r\n\r\n"))
        } else {
            (format!("Content-Length: {length}"), body)
        };
        weft.say(format!("POST {path} HTTP/1.1\r\nHost: weft.test\r\n{field}\r\n\r\n{body}"))
    };
    for chunked in [false, true] {
        assert_eq!(post("/up.php", 2048, chunked).text(), "2048");
        assert_eq!(post("/up.php/x", 2048, chunked).text(), "2048");
        assert_eq!(post("/a.php", 1000, chunked).text(), "1000");
        for (path, length) in [("/up.php", 2049), ("/a.php", 1001), ("/none", 1), ("/a.php?/up.php", 1001)] {
            assert_eq!(post(path, length, chunked).status, 413, "{path}, chunked: {chunked}");
        }
    }
    let expects =
        "POST /a.php HTTP/1.1\r\nHost: weft.test\r\nContent-Length: 1001\r\nExpect: 100-continue\r\n\r\n";
    assert_eq!(weft.say(expects).status, 413, "it is not asked for");
}

#[test]
fn mistakes_in_rules_have_a_line() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let write =
        |name: &str, text: &str| std::fs::write(directory.path().join(name), text).expect("our own file");
    std::fs::create_dir(directory.path().join("public")).expect("a new directory");
    write("empty", "");
    write("users", "a:{SHA}jYGu/kM/PVNX1CqxzvbqC0fOqls=\nb:plain\n");
    write("script.php", "<?php return fn () => '';");
    for (rule, expected) in [
        ("deny = 404", "weft.toml:1: a rule needs path or match"),
        ("path = \"/a\"", "weft.toml:1: a rule needs an action: deny, "),
        ("path = \"/a\"\nmatch = \"b\"\ndeny = 404", "weft.toml:1: a rule has path or match, not both"),
        ("path = \"/a\"\ndeny = 404\nallow = true", "one action, not"),
        ("path = \"a\"\ndeny = 404", "weft.toml:2: path: \"a\" does not begin with a slash"),
        ("path = \"/a/../b\"\ndeny = 404", "climbs"),
        ("path = \"/a\"\ndeny = 200", "weft.toml:3: deny: 200 is not one of 403, 404, 410"),
        ("path = \"/a\"\ndeni = 404", "weft.toml:3: unknown key deni in [[rule]] (did you mean deny?)"),
        (
            "match = \"(\"\ndeny = 404",
            "weft.toml:2: match: \"(\" is not a regular expression: unclosed group",
        ),
        ("path = \"/a\"\nredirect = \"b\"", "weft.toml:3: redirect: \"b\": write a path"),
        ("path = \"/a\"\nredirect = \"https://$1/\"", "fixed host"),
        ("path = \"/a\"\nredirect = \"/b\"\nstatus = 200", "status: 200 is not one of 301"),
        ("match = \"^/a\"\nrewrite = \"/b?c=$1\"", "names $1, but there are 0 captures"),
        ("path = \"/a\"\ndeny = 404\nstatus = 301", "weft.toml:4: status belongs to redirect, not to deny"),
        ("path = \"/a\"\nalias = \"none\"", "weft.toml:1: alias: none: No such file"),
        ("match = \"^/a\"\nalias = \"public\"", "an alias needs path"),
        ("path = \"/a\"\nauth = \"none\"", "weft.toml:3: auth: none: No such file"),
        ("path = \"/a\"\nauth = \"empty\"", "names no user"),
        ("path = \"/a\"\nauth = \"users\"", "auth: users:2: the password has a form"),
        ("path = \"/a\"\nheader = { \"a b\" = \"c\" }", "is not the name of a field"),
        ("path = \"/a\"\nheader = { Content-Length = \"1\" }", "is the server's own"),
        ("path = \"/a\"\nheader = \"x\"", "write the fields as a table"),
        ("path = \"/a\"\nbody_bytes_max = \"many\"", "weft.toml:3: body_bytes_max: expected"),
    ] {
        write("weft.toml", &format!("[[rule]]\n{rule}\n"));
        let output = command::weft(directory.path(), &["check", "public"]);
        assert_eq!(output.code, Some(1), "{rule}");
        assert!(output.stderr.contains(expected), "{rule}: {}", output.stderr);
        assert_eq!(output.stderr.lines().count(), 1, "{rule}: {}", output.stderr);
    }
    write("weft.toml", "[[rule]]\npath = \"/a\"\ndeny = 404\n");
    let output = command::weft(directory.path(), &["check", "script.php"]);
    assert!(output.stderr.contains("weft.toml:1: rules are for document roots"), "{}", output.stderr);
    write("weft.toml", "rule = 1\n");
    let output = command::weft(directory.path(), &["check", "public"]);
    assert!(output.stderr.contains("write [[rule]] above each rule"), "{}", output.stderr);
}

#[test]
fn check_says_what_a_url_would_do() {
    let weft = Server::of_docroot(&[("doku.php", SAY), ("data/x", "x"), ("inc/x", "x"), ("bin/x", "x")])
        .with_file(
            "weft.toml",
            "[server]\napplication = \"public\"\n[[rule]]\npath = [\"/data\", \"/inc\"]\ndeny = 404\n\
             [[rule]]\nmatch = '^/(.*)$'\nmissing = true\nrewrite = \"/doku.php?id=$1\"\n",
        )
        .start();
    let check = |url: &str| weft.weft(&["check", "--url", url]).stdout;
    let script = weft.path("public/doku.php").canonicalize().expect("it exists").display().to_string();
    assert_eq!(
        check("https://a.example/wiki:page?x"),
        format!(
            "url           https://a.example/wiki:page?x\nrule          weft.toml:6: rewrite\nscript        {script}\n\
             SCRIPT_NAME   /doku.php\nPATH_INFO\nQUERY_STRING  id=wiki:page&x\n"
        )
    );
    assert!(check("/data//x").contains("rule          weft.toml:3: deny = 404\nanswer        404\n"));
    assert!(check("/bin/x").contains("file "));
    assert!(weft.weft(&["check", "--url", "x"]).stderr.contains("begins with a slash"));
    let warned = weft.weft(&["check"]).stdout;
    assert!(warned.contains("/bin is served") && !warned.contains("/data is served"), "{warned}");
    assert!(!warned.contains("/inc is served") && warned.contains("rules       2\n"), "{warned}");
}

#[test]
fn a_delegated_answer_passes_the_rules() {
    let weft = Server::of_docroot(&[
        ("get.php", "<?php header('X-Accel-Redirect: /protected/a.txt');"),
        ("protected/a.txt", "protected"),
    ])
    .with_flag("--accel-redirect")
    .with_file("weft.toml", "[[rule]]\npath = \"/protected\"\ndeny = 404\n")
    .start();
    assert_eq!((weft.get("/protected/a.txt").status, weft.get("/get.php").text()), (404, "protected".into()));
}

#[test]
fn rules_hold_beside_a_worker_script() {
    let worker =
        "<?php while (frankenphp_handle_request(function () { echo 'worker ', $_SERVER['QUERY_STRING']; }));";
    let weft = Server::of_docroot(&[("worker.php", worker), ("data/a.txt", "leaked"), ("a.txt", "text")])
        .with("--worker", "public/worker.php")
        .with_file(
            "weft.toml",
            "[[rule]]\npath = \"/data\"\ndeny = 404\n[[rule]]\nmatch = '^/q/(.*)$'\nrewrite = \"/none?q=$1\"\n",
        )
        .start();
    assert_eq!((weft.get("/data/a.txt").status, weft.get("/a.txt").text()), (404, "text".into()));
    assert_eq!((weft.get("/q/1").text(), weft.get("/x").text()), ("worker q=1".into(), "worker ".into()));
}
