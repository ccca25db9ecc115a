//! Resident mode: what a request changes of PHP is undone at its end, so that the next visitor starts from what the script has
//! left when it asked for its first request.

use weft_tests::Server;

#[test]
fn a_weak_map_by_the_request_knows_nobody_else() {
    let script = r#"<?php
        final class Known { public static ?WeakMap $users = null; public static ?WeakReference $last = null; }
        Known::$users = new WeakMap();
        return function (Weft\Http\Request $request): string {
            $same = Known::$last?->get() === $request;
            Known::$last = WeakReference::create($request);
            if ($request->cookie('user')) {
                Known::$users[$request] = $request->cookie('user');
            }
            return (Known::$users[$request] ?? 'nobody') . ($same ? ' again' : '');
        };"#;
    for instances in ["1", "3"] {
        let weft = Server::of_script("worker.php", script).with("--instances", instances).start();
        for _ in 0..10 {
            let alice = weft.say("GET / HTTP/1.1\r\nHost: a\r\nCookie: user=alice\r\n\r\n");
            assert_eq!((alice.text(), weft.get("/").text()), ("alice".to_owned(), "nobody".to_owned()));
        }
    }
}
