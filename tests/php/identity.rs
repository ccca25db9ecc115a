//! A visitor's identity, kept by a request's objects: neither a WeakMap entry nor a reference passes it on to the next
//! visitor.

use std::thread;

use serde_json::json;
use weft_tests::{Running, Server};

/// How many requests follow one another: more than a worker has idle coroutines.
const VISITS: usize = 30;

/// Signs in visitors that have a cookie, and tells each visitor its identity.
fn application(tell: &str) -> Server {
    Server::new(&format!(
        "final class Known {{ public static ?WeakMap $users = null; public static array $kept = []; public static mixed $last = null; }}
        class User {{ public function __construct(public string $name) {{}} public function __destruct() {{ file_put_contents('gone', $this->name . ' ', FILE_APPEND); }} }}
        class Last {{ public ?string $user = null; public function __destruct() {{ if ($this->user) {{ Known::$users[Fiber::getCurrent()] = new User($this->user); }} }} }}
        class Throws {{ public function __destruct() {{ throw new DomainException('at the very end'); }} }}
        Known::$users = new WeakMap();
        return function ($request) {{ {tell} }};"
    ))
}

/// One request with alice's cookie, then requests without a cookie: one after another on new connections, and at once.
fn assert_no_visitor_is_alice(weft: &Running) {
    let visit = |cookie: &str| weft.say(format!("GET / HTTP/1.1\r\nHost: a\r\n{cookie}\r\n"));
    for _ in 0..VISITS {
        assert_eq!(visit("Cookie: user=alice\r\n").text(), "alice");
        assert_eq!(visit("").text(), "nobody");
    }
    thread::scope(|scope| {
        for n in 0..VISITS {
            scope.spawn(move || {
                let (cookie, expected) =
                    if n % 3 == 0 { ("Cookie: user=alice\r\n", "alice") } else { ("", "nobody") };
                assert_eq!(visit(cookie).text(), expected);
            });
        }
    });
    let pipelined: String = (0..VISITS)
        .map(|n| {
            let cookie = if n % 2 == 0 { "Cookie: user=alice\r\n" } else { "" };
            format!("GET / HTTP/1.1\r\nHost: a\r\n{cookie}\r\n")
        })
        .collect();
    let mut client = weft.connect();
    client.send(pipelined);
    for n in 0..VISITS {
        assert_eq!(client.read().text(), if n % 2 == 0 { "alice" } else { "nobody" }, "{n}");
    }
}

#[test]
fn a_weak_map_keyed_by_the_request_knows_no_other_visitor() {
    let weft = application(
        "if ($request->cookie('user')) { Known::$users[$request] = new User($request->cookie('user')); }
         usleep(random_int(0, 300));
         return (Known::$users[$request] ?? null)?->name ?? 'nobody';",
    )
    .start();
    assert_no_visitor_is_alice(&weft);
    assert!(weft.read("gone").starts_with("alice alice "), "what was held by it is freed");
}

#[test]
fn a_weak_reference_to_the_request_ends_with_it() {
    let weft = application(
        "$before = Known::$last?->get();
         $own = WeakReference::create($request);
         Known::$last = $own;
         return match (true) {
             $before !== null => $before === $request ? 'the one before' : 'still there',
             $own->get() !== $request => 'lost',
             default => $request->cookie('user', 'nobody'),
         };",
    )
    .start();
    for _ in 0..VISITS {
        assert_eq!(weft.say("GET / HTTP/1.1\r\nHost: a\r\nCookie: user=alice\r\n\r\n").text(), "alice");
        assert_eq!(weft.get("/").text(), "nobody");
    }
}

#[test]
fn a_kept_request_is_not_the_next_one() {
    let weft = application(
        "Known::$kept[] = $request;
         $users = Known::$last ??= new SplObjectStorage();
         if ($request->cookie('user')) { $users[$request] = $request->cookie('user'); }
         return $users->contains($request) ? $users[$request] : 'nobody';",
    )
    .start();
    assert_no_visitor_is_alice(&weft);
}

#[test]
fn a_weak_map_keyed_by_the_fiber_knows_no_other_visitor() {
    let weft = application(
        "$fiber = Fiber::getCurrent();
         if ($request->cookie('user')) { Known::$users[$fiber] = new User($request->cookie('user')); }
         usleep(random_int(0, 300));
         return (Known::$users[$fiber] ?? null)?->name ?? 'nobody';",
    )
    .start();
    assert_no_visitor_is_alice(&weft);
}

/// A destructor that runs while the request's state is being freed adds a new entry.
#[test]
fn a_value_that_a_last_destructor_stores_by_the_fiber_is_dropped() {
    let weft = application(
        "$said = (Known::$users[Fiber::getCurrent()] ?? null)?->name ?? 'nobody';
         if ($request->cookie('user')) {
             $last = new Last();
             $last->user = $request->cookie('user');
             set_error_handler(function () use ($last) {});
             return $request->cookie('user');
         }
         return $said;",
    )
    .start();
    assert_no_visitor_is_alice(&weft);
    assert!(!weft.log().contains("Uncaught"), "{}", weft.log());
}

#[test]
fn a_kept_fiber_is_never_the_next_requests() {
    let weft = application(
        "$users = Known::$last ??= new SplObjectStorage();
         $fiber = Fiber::getCurrent();
         $said = $users->contains($fiber) ? $users[$fiber] : 'nobody';
         if ($request->cookie('user')) { $users[$fiber] = $said = $request->cookie('user'); }
         return $said;",
    )
    .start();
    assert_no_visitor_is_alice(&weft);
}

#[test]
fn a_kept_fiber_has_ended_and_cannot_resume_another_request() {
    let weft = application(
        "switch ($request->path()) {
            case '/keep':
                Known::$kept[] = Fiber::getCurrent();
                return 'kept';
            case '/suspend':
                touch('suspended');
                return Fiber::suspend();
            case '/resume':
                $said = [];
                foreach (Known::$kept as $fiber) {
                    try {
                        $said[] = [$fiber->isTerminated(), $fiber->isSuspended(), $fiber->resume('for another')];
                    } catch (FiberError $error) {
                        $said[] = [$fiber->isTerminated(), $fiber->isSuspended(), $error->getMessage()];
                    }
                }
                return json_encode($said);
        }
        return 'at work';",
    )
    .with("--request-timeout-ms", "1500")
    .start();
    assert_eq!(weft.get("/keep").text(), "kept");
    let mut suspended = weft.connect();
    suspended.get("/suspend");
    weft_tests::until("the suspended request", || weft.path("suspended").exists().then_some(()));
    let refused = json!([[true, false, "Cannot resume a fiber that is not suspended"]]);
    assert_eq!(weft.get("/resume").json(), refused);
    assert_eq!(suspended.read().status, 504, "nobody has resumed it");
    assert_eq!(weft.get("/").text(), "at work");
}

#[test]
fn a_task_knows_nothing_by_the_fiber_of_the_one_before() {
    let weft = application(
        "return Weft\\go(function () use ($request) {
            $said = (Known::$users[Fiber::getCurrent()] ?? null)?->name ?? Known::$last?->get()?->isTerminated() ?? 'nobody';
            if ($request->cookie('user')) {
                Known::$users[Fiber::getCurrent()] = new User($said = $request->cookie('user'));
                Known::$kept[] = Fiber::getCurrent();
            }
            return $said;
        })->await();",
    )
    .start();
    assert_no_visitor_is_alice(&weft);
}

#[test]
fn a_destructor_that_throws_at_the_end_is_logged_and_does_no_harm() {
    let mut weft = application(
        "Known::$users[$request] = new Throws();
         Known::$users[Fiber::getCurrent()] = new Throws();
         return 'fine';",
    )
    .start();
    for _ in 0..3 {
        assert_eq!(weft.get("/").text(), "fine");
    }
    weft.wait_for_log_times("DomainException: at the very end", 6);
}

#[test]
fn a_kept_handle_of_a_body_cannot_read_another_body() {
    let weft = application(
        "$said = [];
         foreach (Known::$kept as $stream) {
             try {
                 $said[] = stream_get_contents($stream, null, 0);
             } catch (TypeError $error) {
                 $said[] = $error::class;
             }
         }
         $body = file_get_contents('php://input');
         Known::$kept = [fopen('php://input', 'r'), $request->stream(), fopen('php://input', 'r')];
         fread(Known::$kept[0], 3);
         return json_encode([$body, $said]);",
    )
    .start();
    let mut client = weft.connect();
    let closed = "TypeError";
    for n in 0..VISITS {
        client.post("/", "text/plain", format!("of visitor {n}"));
        let expected = if n == 0 { json!([]) } else { json!([closed, "", closed]) };
        assert_eq!(client.read().json(), json!([format!("of visitor {n}"), expected]));
    }
}
