//! The live page at `admin://` addresses: who gets it, and what it shows in a real browser.

use rustix::process::Signal;
use serde_json::{Value, json};
use weft_tests::browser::Browser;
use weft_tests::{Client, Response, Running, Server, in_each_mode, until};

use crate::admin::{address, ask, with_admin};
use crate::insides::{BLOCKS, line_of};

const TOKEN: &str = "0123456789abcdef";
const PAGES: &str = "
function page(string $path): string
{
    while (str_starts_with($path, '/wait') && !is_file(__DIR__ . '/gate') && !is_file(__DIR__ . '/../gate')) {
        usleep(1000);
        clearstatcache();
    }
    return 'the application';
}";

fn application() -> Server {
    let [.., (_, coroutine)] = in_each_mode(PAGES);
    with_admin(coroutine)
}

fn say(weft: &Running, head: &str) -> Response {
    let mut client = Client::connect(address(weft));
    client.send(format!("{head}\r\n\r\n"));
    client.read()
}

fn shown(browser: &Browser, selector: &str) -> String {
    let text = browser.run(&format!("return document.querySelector({})?.textContent", json!(selector)));
    text.as_str().unwrap_or_default().to_owned()
}

/// The cells of one column.
fn column(browser: &Browser, table: &str, at: usize) -> Value {
    browser.run(&format!(
        "return [...document.querySelectorAll('{table} tbody td:nth-child({at})')].map(cell => cell.textContent)"
    ))
}

#[test]
fn the_page_is_for_everybody_and_its_numbers_are_not() {
    let weft = application().with_variable("WEFT_ADMIN_TOKEN", TOKEN).start();
    let page = ask(&weft, "/", None);
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe"), "{policy}");
    assert_eq!(page.header("cache-control"), Some("no-cache"));
    let tag = page.header("etag").unwrap();
    let again = say(&weft, &format!("GET / HTTP/1.1\r\nHost: x\r\nIf-None-Match: W/\"x\", {tag}"));
    assert_eq!((again.status, again.header("etag")), (304, Some(tag)));
    for path in ["/status", "/requests", "/metrics", "/x"] {
        assert_eq!(ask(&weft, path, None).status, 401, "{path}");
    }
    assert_eq!(ask(&weft, "/requests", Some(TOKEN)).status, 200);
}

#[test]
fn requests_in_flight_are_listed_with_where_they_stand() {
    for (mode, server) in in_each_mode(PAGES) {
        let weft = with_admin(server).with("--workers", "2").start();
        let mut client = weft.connect();
        client.get("/wait?secret=1");
        let seen = until("the request to be seen", || {
            let seen = ask(&weft, "/requests", None).json();
            // It may be between two of its waits.
            (seen["requests"][0]["state"] == "waits").then_some(seen)
        });
        let [request] = &seen["requests"].as_array().unwrap()[..] else { panic!("{mode}: {seen}") };
        assert_eq!((&seen["count"], &seen["silent"]), (&json!(1), &json!([])), "{mode}");
        assert_eq!((&request["what"], &request["kind"]), (&json!("GET /wait"), &json!("sleep")), "{mode}");
        assert!(request["age_ms"].as_f64().unwrap() > 0.0, "{mode}: {seen}");
        assert!(request["place"].as_str().unwrap().contains("pages.inc:"), "{mode}: {seen}");
        assert!(weft.workers().iter().any(|pid| request["pid"] == *pid), "{mode}: {seen}");
        weft.write("gate", "open");
        assert_eq!(client.read().text(), "the application", "{mode}");
        until("it to be gone", || (ask(&weft, "/requests", None).json()["count"] == 0).then_some(()));
    }
}

#[test]
fn a_worker_that_is_held_is_named_or_its_request_seen_to_compute() {
    const BURNS: &str = "
return function (Weft\\Http\\Request $request): string {
    while ($request->path() === '/burn' && !is_file('enough')) { clearstatcache(); }
    return 'done';
};";
    let weft = with_admin(Server::new(BURNS)).with("--workers", "2").start();
    let mut client = weft.connect();
    client.get("/burn");
    until("its worker", || {
        let seen = ask(&weft, "/requests", None).json();
        let silent = seen["silent"].as_array()?;
        let is_named = weft.workers().iter().any(|pid| *silent == [json!(pid)]);
        let request = &seen["requests"][0];
        let is_seen = request["what"] == "GET /burn"
            && ["computes", "could run"].contains(&request["state"].as_str().unwrap_or_default());
        (is_named || is_seen).then_some(())
    });
    weft.write("enough", "");
    assert_eq!(client.read().text(), "done");
}

#[test]
fn a_page_of_another_site_gets_nothing() {
    let weft = application().start();
    let status = |head: &str| say(&weft, head).status;
    assert_eq!(
        status("GET /requests HTTP/1.1\r\nHost: evil.example"),
        403,
        "a name that means this address now"
    );
    for monitored in ["/healthz", "/metrics", "/status", "/fpm-status"] {
        assert_eq!(status(&format!("GET {monitored} HTTP/1.1\r\nHost: monitor.example")), 200);
    }
    let post = "POST /publish?topic=x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nOrigin: http://";
    assert_eq!(status(&format!("{post}evil.example")), 403);
    assert_eq!(status(&format!("{post}localhost")), 200);
    for own in ["127.0.0.1:9180", "[::1]:9180", "localhost", "monitor"] {
        assert_eq!(status(&format!("GET /requests HTTP/1.1\r\nHost: {own}")), 200, "{own}");
    }
    let weft = application().with_variable("WEFT_ADMIN_TOKEN", TOKEN).start();
    let named = format!("GET /requests HTTP/1.1\r\nHost: admin.example\r\nAuthorization: Bearer {TOKEN}");
    assert_eq!(say(&weft, &named).status, 200);
}

#[test]
fn the_numbers_move_and_tables_are_sorted() {
    let weft = application().start();
    let browser = Browser::start();
    browser.open(&format!("http://{}/", address(&weft)));
    browser.wait_for_text("#state", "live");
    until("requests to be seen", || {
        (0..20).for_each(|_| drop(weft.get("/b")));
        weft.get("/a");
        let rate = shown(&browser, "#tile-rate");
        rate.replace(',', "").parse::<f64>().is_ok_and(|rate| rate > 0.0).then_some(())
    });
    until("the plot to show them", || {
        weft.get("/b");
        let drawn =
            browser.run("return document.querySelector('#plot-rate path.line.c-good').getAttribute('d')");
        drawn.as_str().is_some_and(|path| path.contains('L')).then_some(())
    });
    let sorted = |expected: Value| {
        until("the routes in this order", || {
            weft.get("/a");
            (0..3).for_each(|_| drop(weft.get("/b")));
            (column(&browser, "#routes", 1) == expected).then_some(())
        });
    };
    browser.click("#routes th[data-key=route] button");
    sorted(json!(["/a", "/b"]));
    browser.click("#routes th[data-key=route] button");
    sorted(json!(["/b", "/a"]));
    let said = browser.run("return document.querySelector('#routes th[data-key=route]').ariaSort");
    assert_eq!(said, "descending");
    browser.click("#routes th[data-key=requests] button");
    sorted(json!(["/b", "/a"]));
}

#[test]
fn the_inside_of_workers_is_shown() {
    let weft = with_admin(Server::new(BLOCKS)).with("--workers", "1").start();
    let place = format!("{}:{}", weft.path("app.php").display(), line_of(&weft, "usleep(1000)"));
    let browser = Browser::start();
    browser.open(&format!("http://{}/", address(&weft)));
    let _idle = weft.connect();
    until("the call with its place", || {
        weft.get("/");
        let (functions, places) = (column(&browser, "#blocking", 1), column(&browser, "#blocking", 2));
        (functions[0] == "usleep()" && places[0] == *place).then_some(())
    });
    until("what connections do", || {
        let states = column(&browser, "#connections", 1);
        ["idle", "handling"]
            .iter()
            .all(|state| states.as_array().is_some_and(|all| all.contains(&json!(state))))
            .then_some(())
    });
    let lag = "const at = [...document.querySelectorAll('#workers th')].findIndex((head) => head.dataset.key === 'lag');
        return document.querySelectorAll('#workers tbody td')[at]?.textContent";
    until("loop lag", || browser.run(lag).as_str().is_some_and(|lag| lag.contains("ms")).then_some(()));
}

#[test]
fn what_clients_send_is_shown_as_text() {
    const HOSTILE: &str = "/wait/<img/src=x/onerror=document.title='owned'>";
    let weft = application().with("--admin-routes", "/other").start();
    let browser = Browser::start();
    let mut client = weft.connect();
    client.get(HOSTILE);
    browser.open(&format!("http://{}/", address(&weft)));
    until("the request in the table", || {
        (column(&browser, "#requests", 2) == json!([format!("GET {HOSTILE}")])).then_some(())
    });
    weft.write("gate", "open");
    assert_eq!(client.read().status, 200);
    until("its end", || {
        (column(&browser, "#requests", 1) == json!(["no request is in flight"])).then_some(())
    });
    weft.get("/<b>bold");
    until("the route in the table", || {
        weft.get("/<b>bold");
        let routes = column(&browser, "#routes", 1);
        routes
            .as_array()?
            .iter()
            .any(|route| route.as_str().is_some_and(|name| name.contains("bold")))
            .then_some(())
    });
    assert_eq!(
        browser.run("return [document.title, document.querySelectorAll('main img, main td *').length]"),
        json!(["weft", 0])
    );
}

#[test]
fn the_token_is_asked_for_and_a_silent_server_is_said() {
    let weft = application().with_variable("WEFT_ADMIN_TOKEN", TOKEN).start();
    let browser = Browser::start();
    browser.open(&format!("http://{}/", address(&weft)));
    browser.wait_for_text("#state", "token wanted");
    browser.fill("#token", "not the token at all");
    browser.click("#entrance button");
    browser.wait_for_text("#refused", "That is not the token.");
    browser.fill("#token", TOKEN);
    browser.click("#entrance button");
    browser.wait_for_text("#state", "live");
    let kept =
        browser.run("return [localStorage.length, document.cookie, sessionStorage.getItem('weft.token')]");
    assert_eq!(kept, json!([0, "", TOKEN]));
    browser.click("#pause");
    browser.wait_for_text("#state", "paused");
    browser.click("#pause");
    browser.wait_for_text("#state", "live");
    weft.signal(Signal::KILL);
    until("the page to say so", || {
        shown(&browser, "#state").starts_with("the server does not answer (since ").then_some(())
    });
}
