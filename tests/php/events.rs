//! Server-sent events: what clients receive, and what ends a stream.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use weft_tests::{Running, Server, until};

const APPLICATION: &str = r#"
use Weft\Http\{Event, Request, Response};

final class Seen { public static array $all = []; }

return function (Request $request): Response {
    return match ($request->path()) {
        '/events' => Response::events((function () use ($request) {
            for ($id = 1 + (int) $request->header('Last-Event-ID', '0'); $id <= 3; ++$id) {
                yield new Event("one\ntwo\r\nthree $id", (string) $id, 'news', 500);
            }
            yield 'plain';
        })()),
        '/quiet' => Response::events((function () {
            try {
                yield 'first';
                sleep(60);
            } catch (Weft\CancelledError $e) {
                Seen::$all[] = 'cancelled';
                throw $e;
            }
        })(), heartbeat: 0.05),
        '/failing' => Response::events((function () { yield 'x'; throw new LogicException('no more events'); })()),
        '/wrong' => Response::text(implode(',', array_map(function (Closure $make): string {
            try { $make(); return 'made'; } catch (ValueError) { return 'refused'; }
        }, [fn () => new Event('', "a\nb"), fn () => new Event('', name: "a\r"), fn () => new Event('', retryMs: -1), fn () => new Event("\n")]))),
        '/coroutines' => Response::text((string) count(Weft\Coroutine::list())),
        default => Response::json(Seen::$all),
    };
};
"#;

fn ask(weft: &Running, path: &str, lines: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(weft.address).expect("it listens");
    stream.set_read_timeout(Some(weft_tests::PATIENCE)).expect("a time");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{lines}\r\n").expect("sent");
    BufReader::new(stream)
}

#[test]
fn events_are_sent_as_they_come_and_a_client_goes_on_where_it_was() {
    let weft = Server::new(APPLICATION).start();
    let event = |id| format!("event: news\nid: {id}\nretry: 500\ndata: one\ndata: two\ndata: three {id}\n\n");
    let answer = weft.get("/events");
    assert_eq!(answer.header("Content-Type"), Some("text/event-stream"));
    assert_eq!(answer.header("Cache-Control"), Some("no-store"));
    assert_eq!(answer.text(), format!(":\n\n{}{}{}data: plain\n\n", event(1), event(2), event(3)));
    let mut text = String::new();
    ask(&weft, "/events", "Last-Event-ID: 2\r\n").read_to_string(&mut text).expect("it ends");
    assert!(text.contains(&event(3)) && !text.contains("id: 2\n"), "{text}");
    assert_eq!(weft.get("/wrong").text(), "refused,refused,refused,made");
}

#[test]
fn comments_show_that_both_ends_are_alive_and_a_client_that_has_gone_ends_the_events() {
    let weft = Server::new(APPLICATION).start();
    let mut client = ask(&weft, "/quiet", "");
    let (mut line, mut beats) = (String::new(), 0);
    while beats < 4 {
        line.clear();
        client.read_line(&mut line).expect("more");
        beats += usize::from(line == ":\n");
    }
    drop(client);
    until("the end of the events", || (weft.get("/seen").text() == r#"["cancelled"]"#).then_some(()));
    until("no coroutine", || (weft.get("/coroutines").text() == "1").then_some(()));
}

#[test]
fn events_that_throw_cut_the_response_off() {
    let mut weft = Server::new(APPLICATION).start();
    let mut text = String::new();
    let _ = ask(&weft, "/failing", "").read_to_string(&mut text);
    assert!(text.contains("data: x\n\n") && !text.ends_with("0\r\n\r\n"), "{text}");
    weft.wait_for_log("no more events");
}
