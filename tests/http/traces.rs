//! A request's place in a trace (W3C Trace Context): what PHP passes on, and what the access log says.

use weft_tests::{Running, Server, in_each_mode, until};

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const SENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

const PAGES: &str = r"
function page(string $path): string
{
    usleep(1000);

    return implode(' ', [Weft\traceparent(), Weft\traceparent(), $_SERVER['HTTP_TRACEPARENT'] ?? '-']);
}
";

/// What a page says to a request with these further lines: what it passes on, twice, and what it has received.
fn asked(weft: &Running, lines: &str) -> [String; 3] {
    let response = weft.say(format!("GET / HTTP/1.1\r\nHost: a\r\n{lines}\r\n"));
    let text = response.text();
    let parts: Vec<String> = text.splitn(3, ' ').map(str::to_owned).collect();
    parts.try_into().unwrap_or_else(|_| panic!("{text}"))
}

/// Trace, span and flags.
fn parts(traceparent: &str) -> [&str; 3] {
    let [version, trace, span, flags] =
        traceparent.split('-').collect::<Vec<_>>().try_into().expect("four parts");
    let is_hex = |text: &str| text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    assert_eq!((version, trace.len(), span.len(), flags.len()), ("00", 32, 16, 2), "{traceparent}");
    assert!(is_hex(trace) && is_hex(span), "{traceparent}");
    [trace, span, flags]
}

#[test]
fn a_request_passes_on_its_trace_with_a_span_of_its_own() {
    for (mode, server) in in_each_mode(PAGES) {
        let weft = server.start();
        let [first, again, received] = asked(&weft, &format!("Traceparent: {SENT}\r\n"));
        assert_eq!((first.as_str(), received.as_str()), (again.as_str(), SENT), "{mode}");
        let [trace, span, flags] = parts(&first);
        assert_eq!((trace, flags), (TRACE, "01"), "{mode}");
        assert_ne!(span, "b7ad6b7169203331", "{mode}");
        let [second, ..] = asked(&weft, &format!("traceparent: {}\r\n", SENT.replace("-01", "-00")));
        let [trace, other_span, flags] = parts(&second);
        assert_eq!((trace, flags), (TRACE, "00"), "{mode}");
        assert_ne!(span, other_span, "{mode}");
    }
}

#[test]
fn without_a_valid_field_a_trace_begins() {
    for (mode, server) in in_each_mode(PAGES) {
        let weft = server.start();
        let mut traces = vec![TRACE.to_owned()];
        for lines in [
            String::new(),
            format!("traceparent: {}\r\n", SENT.to_uppercase()),
            format!("traceparent: {SENT}-00\r\n"),
            format!("traceparent: {SENT}\r\ntraceparent: {SENT}\r\n"),
        ] {
            let [first, again, _] = asked(&weft, &lines);
            let [trace, _, flags] = parts(&first);
            assert_eq!((first.as_str(), flags), (again.as_str(), "00"), "{mode}: {lines}");
            assert!(!traces.iter().any(|before| before == trace), "{mode}: {lines}");
            traces.push(trace.to_owned());
        }
    }
}

#[test]
fn a_task_belongs_to_the_request_that_started_it() {
    let weft = Server::new(
        r#"return static function (Weft\Http\Request $request): string {
            static $later = [];
            if ($request->path() === '/later') {
                return var_export($later[0]->await(), true);
            }
            $own = Weft\traceparent();
            $of_task = Weft\go(static fn () => Weft\go(Weft\traceparent(...))->await())->await();
            $later[] = Weft\go(static function () {
                usleep(100_000);
                while (Weft\traceparent() !== null) { // the answer is on its way
                    usleep(1000);
                }
                return Weft\traceparent();
            });
            return $own === $of_task ? 'the same' : "$own, $of_task";
        };"#,
    )
    .start();
    assert_eq!(weft.get("/").text(), "the same");
    assert_eq!(weft.get("/later").text(), "NULL");
}

#[test]
fn the_access_log_names_the_trace() {
    for (form, expected) in
        [("text", format!(" trace={TRACE}\n")), ("json", format!(",\"trace_id\":\"{TRACE}\"}}\n"))]
    {
        let weft = Server::new("return fn ($request) => 'answered';")
            .with("--access-log", "access.log")
            .with("--access-log-format", form)
            .start();
        weft.say(format!("GET /traced HTTP/1.1\r\nHost: a\r\ntraceparent: {SENT}\r\n\r\n"));
        weft.say(format!("GET /broken HTTP/1.1\r\nHost: a\r\ntraceparent: {SENT}x\r\n\r\n"));
        let log = until("two lines", || Some(weft.read("access.log")).filter(|log| log.lines().count() == 2));
        let (traced, broken) = log.split_once('\n').expect("two lines");
        assert!(format!("{traced}\n").ends_with(&expected), "{traced}");
        assert!(broken.contains("/broken") && !broken.contains("trace=") && !broken.contains("trace_id"));
    }
}
