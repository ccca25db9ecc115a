//! PHP's file sessions by cookie, as an application uses them.

use serde_json::json;
use weft_tests::{Client, Response, Running, Server};

/// Counts a visitor's requests.
const COUNTER: &str = r#"return function ($r) {
    session_start(['save_path' => __DIR__]);
    $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;
    usleep(300);
    return session_id() . ' ' . $_SESSION['n'];
};"#;

/// A browser: it keeps the session's cookie.
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
fn each_visitor_has_a_session_of_its_own() {
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
