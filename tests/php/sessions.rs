//! PHP's file sessions with cookies, as an application uses them.

use serde_json::json;
use weft_tests::{Client, Response, Running, Server};

use crate::interleaved::{MEET, at_once};

/// Counts a visitor's requests.
const COUNTER: &str = r#"return function ($r) {
    session_start(['save_path' => __DIR__]);
    $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
    usleep(300);
    return session_id() . ' ' . $_SESSION['n'];
};"#;

/// A browser, which keeps the session's cookie.
struct Visitor {
    client: Client,
    cookie: Option<String>,
}

impl Visitor {
    fn new(weft: &Running) -> Visitor {
        Visitor { client: weft.connect(), cookie: None }
    }

    fn ask(&mut self) {
        let cookie = self.cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n")).unwrap_or_default();
        self.client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{cookie}\r\n"));
    }

    fn hear(&mut self) -> Response {
        let response = self.client.read();
        if let Some(cookie) = response.header("set-cookie") {
            self.cookie = cookie.split(';').next().map(str::to_string);
        }
        response
    }
}

#[test]
fn each_visitor_has_its_own_session() {
    let weft = Server::new(COUNTER).start();
    let mut visitors: Vec<Visitor> = (0..20).map(|_| Visitor::new(&weft)).collect();
    for round in 1..=5 {
        visitors.iter_mut().for_each(Visitor::ask);
        for visitor in &mut visitors {
            let response = visitor.hear();
            let cookie = visitor.cookie.clone().expect("a session's cookie");
            let (id, count) =
                cookie.strip_prefix("PHPSESSID=").map(|id| (id, round)).expect("PHP's name for it");
            assert_eq!(response.text(), format!("{id} {count}"));
            assert_eq!(response.header("set-cookie").is_some(), round == 1, "the cookie is set once");
        }
    }
    let mut ids: Vec<String> = visitors.into_iter().filter_map(|visitor| visitor.cookie).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 20);
}

#[test]
fn a_visitor_without_a_cookie_never_gets_anothers_session() {
    let weft = Server::new(COUNTER).start();
    let mut first = Visitor::new(&weft);
    for _ in 0..3 {
        first.ask();
        first.hear();
    }
    let stranger = weft.get("/");
    assert!(stranger.text().ends_with(" 1"), "{}", stranger.text());
    assert!(stranger.header("set-cookie").is_some_and(|cookie| cookie.starts_with("PHPSESSID=")));
    first.ask();
    assert!(first.hear().text().ends_with(" 4"));
}

#[test]
fn requests_of_one_session_at_once_lose_no_change() {
    let weft = Server::new(COUNTER).with("--workers", "2").start();
    let mut first = Visitor::new(&weft);
    first.ask();
    first.hear();
    let mut visitors: Vec<Visitor> = (0..20).map(|_| Visitor::new(&weft)).collect();
    for visitor in &mut visitors {
        visitor.cookie.clone_from(&first.cookie);
        visitor.ask();
    }
    let mut counts: Vec<u32> = visitors
        .iter_mut()
        .map(|visitor| {
            visitor.hear().text().rsplit_once(' ').and_then(|(_, n)| n.parse().ok()).expect("a count")
        })
        .collect();
    counts.sort_unstable();
    assert_eq!(counts, (2..=21).collect::<Vec<u32>>());
}

#[test]
fn a_session_is_saved_when_its_request_exits_or_throws() {
    let app = r#"return function ($r) {
            session_start(['save_path' => __DIR__]);
            $seen = $_SESSION['how'] ?? 'nothing';
            $_SESSION['how'] = $r->query('how');
            if ($r->query('how') === 'exit') { exit("saw $seen"); }
            if ($r->query('how') === 'throw') { throw new Exception('x'); }
            return "saw $seen";
        };"#;
    let weft = Server::new(app).start();
    let first = weft.get("/?how=exit");
    let cookie =
        first.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a cookie").to_string();
    let ask =
        |how: &str| weft.say(format!("GET /?how={how} HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n"));
    assert_eq!(first.text(), "saw nothing");
    assert_eq!(ask("throw").status, 500);
    assert_eq!(ask("again").text(), "saw throw");
    assert_eq!(ask("last").text(), "saw again");
}

#[test]
fn auto_start_gives_each_request_its_session() {
    let app = r#"return function () {
        $_SESSION['hits'] = ($_SESSION['hits'] ?? 0) + 1;
        usleep(1000);
        return json_encode([session_status() === PHP_SESSION_ACTIVE, session_id() !== '', $_SESSION['hits']]);
    };"#;
    let directory = Server::new(app);
    let path = format!("session.save_path={}", directory.directory().display());
    let weft = directory.with("--define", "session.auto_start=1").with("--define", &path).start();
    let first = weft.get("/");
    assert_eq!(first.json(), json!([true, true, 1]));
    let cookie = first.all("set-cookie")[0].split(';').next().expect("a cookie").to_owned();
    for hits in 2..5 {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {cookie}\r\n\r\n");
        assert_eq!(weft.say(request).json(), json!([true, true, hits]));
    }
    assert_eq!(
        weft.get("/").json(),
        json!([true, true, 1]),
        "a request without a cookie has a session of its own"
    );
}

/// Fifty visitors at once. PHP writes their session ids into the links and forms of their pages and into the
/// constant SID.
#[test]
fn a_session_id_in_a_page_is_its_own_visitors() {
    let app = format!(
        "{MEET}{}",
        r#"return function ($r) {
            $clean = defined('SID') ? SID : '';
            if ($r->query('n') === null) {
                return '<a href="/none">' . $clean;
            }
            session_save_path(__DIR__);
            session_id('visitor' . $r->query('n'));
            session_start();
            output_add_rewrite_var('own', $r->query('n'));
            echo '<a href="/first">', $clean, '<form action="/form"></form>';
            meet((int) $r->query('n'));
            echo '<a href="/second">', SID;
        };"#
    );
    let weft = ["session.use_trans_sid=1", "session.use_cookies=0", "session.use_only_cookies=0"]
        .into_iter()
        .chain(["session.trans_sid_tags=\"a=href,form=\"", "url_rewriter.tags=\"a=href,form=\""])
        .fold(Server::new(&app), |server, define| server.with("--define", define))
        .start();
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| {
        let text = response.text();
        let (own, added) = (format!("PHPSESSID=visitor{n}"), format!("own={n}"));
        for link in ["/first?", "/second?"] {
            let rest = text.split_once(link).unwrap_or_else(|| panic!("{n}: {link} in {text}")).1;
            let query = rest.split_once('"').expect("the link's end").0;
            let mut found: Vec<&str> = query.split('&').collect();
            found.sort_unstable();
            assert_eq!(found, [own.as_str(), added.as_str()], "{n}: {text}");
        }
        assert!(text.contains(&format!("name=\"PHPSESSID\" value=\"visitor{n}\"")), "{n}: {text}");
        assert!(text.ends_with(&own), "{n}: its SID is at the end of {text}");
        let ids = text.matches("visitor").count();
        assert_eq!(
            ids,
            text.matches(&format!("visitor{n}")).count(),
            "{n}: another visitor's id is in {text}"
        );
        assert_eq!(ids, 4, "{n}: {text}");
    });
    assert_eq!(weft.get("/").text(), "<a href=\"/none\">");
}

/// Applications with their own save handlers: `boot` runs during the boot, `begin` in each request.
fn with_handlers(boot: &str, begin: &str) -> Running {
    let app = r"final class Memory implements SessionHandlerInterface {
            public static array $kept = [];
            public function __construct(private string $name) {}
            public function open(string $path, string $name): bool { return true; }
            public function close(): bool { return true; }
            public function read(string $id): string { usleep(300); return self::$kept[$this->name][$id] ?? ''; }
            public function write(string $id, string $data): bool { self::$kept[$this->name][$id] = $data; return true; }
            public function destroy(string $id): bool { return true; }
            public function gc(int $lifetime): int { return 0; }
        }
        BOOT
        return function ($r) {
            $n = (int) $r->query('n');
            BEGIN
            usleep(300);
            session_id('session' . $n);
            session_start(['use_cookies' => 0, 'cache_limiter' => '']);
            $_SESSION['n'] = $n;
            usleep(300);
            session_write_close();
            $kept = fn (string $handler) => isset(Memory::$kept[$handler][session_id()]);
            return json_encode([$kept('booted'), $kept('own'), is_file(__DIR__ . '/sess_' . session_id())]);
        };";
    let server = Server::new(&app.replace("BOOT", boot).replace("BEGIN", begin));
    let path = format!("session.save_path={}", server.directory().display());
    server.with("--define", &path).start()
}

#[test]
fn a_save_handler_set_at_boot_serves_every_request() {
    let begin = "if ($n % 3 === 0) { return 'none'; }
        if ($n % 3 === 1) { session_set_save_handler(new Memory('own')); }";
    let weft = with_handlers("session_set_save_handler(new Memory('booted'));", begin);
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| match n % 3 {
        0 => assert_eq!(response.text(), "none"),
        rest => assert_eq!(response.json(), json!([rest == 2, rest == 1, false]), "{n}"),
    });
}

#[test]
fn a_save_handler_of_a_request_is_its_own() {
    let begin = "if ($n % 3 === 0) { session_set_save_handler(new Memory('own')); }
        if ($n % 3 === 1) { session_set_save_handler(new Memory('own')); return 'not used'; }";
    let weft = with_handlers("", begin);
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| match n % 3 {
        1 => assert_eq!(response.text(), "not used"),
        rest => assert_eq!(response.json(), json!([false, rest == 0, rest == 2]), "{n}"),
    });
}

/// One request switches back to files after the application has set a handler during its boot.
#[test]
fn a_requests_changes_to_the_save_handler_are_undone() {
    let begin = "if ($n % 2) { ini_set('session.save_handler', 'files'); }";
    let weft = with_handlers("session_set_save_handler(new Memory('booted'));", begin);
    let request = |n: usize| format!("GET /?n={n} HTTP/1.1\r\nHost: a\r\n\r\n");
    at_once(&weft, request, |n, response| {
        assert_eq!(response.json(), json!([n % 2 == 0, false, n % 2 == 1]), "{n}");
    });
}
