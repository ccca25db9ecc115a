//! Weft\Http\Request and Weft\Http\Response, and the values that a handler can return.

use serde_json::json;
use weft_tests::Server;

use crate::server;

#[test]
fn a_handler_may_return_text_null_or_what_becomes_text() {
    let weft = server().start();
    for (what, body) in
        [("string", "text"), ("null", ""), ("int", "42"), ("stringable", "as text"), ("false", "")]
    {
        let response = weft.get(&format!("/return?what={what}"));
        assert_eq!((response.status, response.text().as_str()), (200, body), "{what}");
    }
}

#[test]
fn a_wrong_return_value_of_a_handler_is_explained() {
    let mut weft = server().start();
    assert_eq!(weft.get("/return?what=array").status, 500);
    weft.wait_for_log("The handler returned array; return a string, null, a Weft\\Http\\Response");
    assert_eq!(weft.get("/return?what=closure").status, 500);
    assert_eq!(weft.get("/return?what=string").status, 200);
}

#[test]
fn an_uncaught_exception_is_a_plain_500_and_a_log_entry_with_the_requests_id() {
    let app =
        "return function ($r) { header('X-Id: ' . $r->id()); throw new DomainException('secret detail'); };";
    let mut weft = Server::new(app).start();
    let response = weft.get("/");
    assert_eq!((response.status, response.text().as_str()), (500, "Internal Server Error\n"));
    weft.wait_for_log("Uncaught DomainException: secret detail in ");
    weft.wait_for_log("app.php:2");
    assert_eq!(response.header("x-id"), None, "what the application had set is gone with its response");
    let app = "return function ($r) { file_put_contents('id', $r->id()); throw new Exception('x'); };";
    let mut weft = Server::new(app).start();
    assert_eq!(weft.get("/").status, 500);
    let id = weft.read("id");
    weft.wait_for_log(&format!("request={id}"));
}

#[test]
fn in_development_the_page_shows_the_exception_and_its_source() {
    let weft = server().with("--mode", "development").start();
    let response = weft.get("/throw");
    assert_eq!(response.status, 500);
    assert!(response.header("content-type").is_some_and(|kind| kind.starts_with("text/html")));
    let page = response.text();
    for part in
        ["thrown by the application", "DomainException", "Caused by LogicException", "the cause", "app.php:"]
    {
        assert!(page.contains(part), "{part} is not on the page:\n{page}");
    }
    assert!(
        page.contains("throw new DomainException(&#039;thrown by the application&#039;"),
        "no source:\n{page}"
    );
}

#[test]
fn a_kept_request_object_still_answers() {
    let weft = server().start();
    let mut client = weft.connect();
    client.send("GET /keep?x=1 HTTP/1.1\r\nHost: a\r\nX-Kept: yes\r\n\r\n");
    assert_eq!(client.read().text(), "kept");
    client.send("GET /kept?x=2 HTTP/1.1\r\nHost: a\r\nX-Kept: no\r\n\r\n");
    assert_eq!(client.read().json(), json!(["/keep", "1", "yes", true, false]));
}

#[test]
fn the_body_as_a_stream_a_string_and_php_input() {
    let weft = server().start();
    let mut client = weft.connect();
    client.post("/stream", "text/plain", "some body");
    assert_eq!(client.read().text(), "some|some body|some body|some body");
    client.post("/stream", "text/plain", "");
    assert_eq!(client.read().text(), "|||");
}

#[test]
fn several_lines_of_a_header_are_one_for_every_reader() {
    let app = "return fn ($r) => json_encode([$r->header('Cookie'), $_SERVER['HTTP_COOKIE'], $_COOKIE, $r->header('X-List'),
        $_SERVER['HTTP_X_LIST'], $r->header('X-Empty'), $r->header('X-None')]);";
    let weft = Server::new(app).start();
    let mut client = weft.connect();
    client.send(
        "GET / HTTP/1.1\r\nHost: a\r\nCookie: a=1\r\nX-List: one\r\nCookie: b=2\r\nX-List: two\r\nX-Empty: \r\n\r\n",
    );
    let cookies = json!({"a": "1", "b": "2"});
    let expected = json!(["a=1; b=2", "a=1; b=2", cookies, "one, two", "one, two", "", null]);
    assert_eq!(client.read().json(), expected);
}

#[test]
fn header_and_response_join_and_the_response_wins() {
    let weft = server().start();
    let response = weft.get("/both");
    assert_eq!((response.status, response.text().as_str()), (201, "echoed and returned"));
    assert_eq!(response.header("x-both"), Some("from Response"));
    assert_eq!(response.header("x-kept"), Some("from header()"));
    let cookies = response.all("set-cookie");
    assert!(cookies.iter().any(|c| c.starts_with("one=1")), "{cookies:?}");
    assert!(cookies.iter().any(|c| c.starts_with("two=2")), "{cookies:?}");
}

#[test]
fn a_response_refuses_what_cannot_be_sent() {
    let app = r#"use Weft\Http\Response;
        return function () {
            $said = [];
            foreach ([fn () => new Response('', 99), fn () => new Response('', 600), fn () => Response::redirect('/', 200),
                fn () => (new Response())->setCookie('a=b'), fn () => (new Response())->setHeader('a b', 'c'),
                fn () => (new Response())->addHeader('', 'c'), fn () => (new Response())->addHeader('a', "b\0")] as $do) {
                try { $do(); $said[] = 'taken'; } catch (ValueError $e) { $said[] = 'refused'; }
            }
            $r = Response::text('x')->setHeader('A', '1')->addHeader('a', '2')->setHeader('B', ['3', '4']);
            return Response::json([$said, $r->status(), $r->header('a'), $r->headers(), $r->body()]);
        };"#;
    let said = Server::new(app).start().get("/").json();
    assert_eq!(said[0], json!(["refused", "refused", "refused", "refused", "refused", "refused", "refused"]));
    assert_eq!(said[1], 200);
    assert_eq!(said[2], "1");
    assert_eq!(
        said[3],
        json!({"Content-Type": ["text/plain; charset=UTF-8"], "A": ["1"], "a": ["2"], "B": ["3", "4"]})
    );
    assert_eq!(said[4], "x");
}

#[test]
fn native_objects_cannot_be_made_cloned_or_serialised() {
    let app = r#"return function ($r) {
            $said = [];
            foreach ([fn () => new Weft\Http\Request(), fn () => clone $r, fn () => serialize($r), fn () => $r->x = 1,
                fn () => new Weft\Http\Writer()] as $do) {
                try { $do(); $said[] = 'done'; } catch (Throwable $e) { $said[] = get_class($e); }
            }
            return Weft\Http\Response::json($said);
        };"#;
    let said = Server::new(app).start().get("/").json();
    assert_eq!(said, json!(["Error", "Error", "Exception", "Error", "Error"]));
}

#[test]
fn every_request_method_answers_on_a_bare_request() {
    let app = r#"return function ($r) {
            $all = [];
            foreach (get_class_methods($r) as $name) {
                if (!in_array($name, ['__construct', 'header', 'sendEarlyHints', 'stream', 'json', 'id', 'time'])) { $all[$name] = $r->$name(); }
            }
            return Weft\Http\Response::json($all + ['header' => $r->header('none'), 'default' => $r->header('none', 'd'),
                'query default' => $r->query('none', 5), 'cookie default' => $r->cookie('none', [1]), 'now' => abs($r->time() - microtime(true)) < 60]);
        };"#;
    let weft = Server::new(app).start();
    let said = weft.say("GET /p%20q/?a[]=1&a[]=2&b=%C3%A4+x HTTP/1.1\r\nHost: h:1\r\nCookie: c=1%202; d=x; c=second\r\n\r\n").json();
    assert_eq!(said["method"], "GET");
    assert_eq!(said["path"], "/p%20q/");
    assert_eq!(said["queryString"], "a[]=1&a[]=2&b=%C3%A4+x");
    assert_eq!(said["query"], json!({"a": ["1", "2"], "b": "ä x"}));
    assert_eq!(said["cookie"], json!({"c": "1 2", "d": "x"}));
    assert_eq!(said["body"], "");
    assert_eq!(said["trailers"], json!([]));
    assert_eq!(said["form"], json!([]));
    assert_eq!(said["files"], json!([]));
    assert_eq!(said["client"], "127.0.0.1");
    assert_eq!(said["header"], json!(null));
    assert_eq!(said["default"], "d");
    assert_eq!(said["query default"], 5);
    assert_eq!(said["cookie default"], json!([1]));
    assert_eq!(said["now"], true);
    assert_eq!(said["aborted"], false);
}

#[test]
fn no_header_is_lost_silently() {
    let app = "return function ($r) { $h = []; for ($i = 0; $i < $r->query('n'); $i++) { $h[\"X-$i\"] = $i; }
        return new Weft\\Http\\Response('x', 200, $h); };";
    let mut weft = Server::new(app).start();
    let sent = |response: &weft_tests::Response| {
        response.headers.iter().filter(|(name, _)| name.starts_with("X-")).count()
    };
    assert_eq!(sent(&weft.get("/?n=200")), 200);
    let response = weft.get("/?n=1000");
    if sent(&response) != 1000 {
        assert_eq!(response.status, 500, "{} of 1000 headers were sent as if they were all", sent(&response));
        weft.wait_for_log("header");
    }
}
