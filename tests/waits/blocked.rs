//! Where Zend forbids a switch, a call blocks the whole worker. weft counts and reports such calls.

use weft_tests::Server;

use crate::{at_once, last_words};

#[test]
fn a_wait_in_a_destructor_that_the_garbage_collector_runs_blocks_is_counted_and_said_once() {
    let mut running = Server::new(
        r#"class Waits {
            public ?Waits $self = null;
            public function __destruct() { usleep(1000); }
        }
        return function (Weft\Http\Request $request): string {
            for ($i = 0; $i < 3; $i++) {
                $garbage = new Waits();
                $garbage->self = $garbage;
                unset($garbage);
            }
            return (string) gc_collect_cycles();
        };"#,
    )
    .start();
    for _ in 0..2 {
        assert_eq!(running.get("/").text(), "3");
    }
    running.wait_for_log("blocks the whole worker");
    let words = last_words(&mut running, "calls that blocked this worker: ");
    assert!(words.contains("usleep() 6") || words.contains("nanosleep() 6"), "{words}");
    let log = running.log();
    assert_eq!(log.matches("blocks the whole worker").count(), 1, "{log}");
    let line = log.lines().find(|line| line.contains("blocks the whole worker")).unwrap_or_default();
    // Before PHP 8.4 PHP forbids it, since then weft does.
    let because = ["PHP forbids to switch", "the garbage collector waits for this destructor"];
    let said = |why: &&str| line.contains(&format!("app.php:4: {why}"));
    assert!(line.contains("WARN") && because.iter().any(said), "{line}");
}

/// The collector has decided what it frees before it calls destructors. What runs while one waits must not get hold of
/// that: a weak reference leads there.
#[test]
fn what_the_collector_is_about_to_free_reaches_no_other_request() {
    let running = Server::new(
        r#"class Node { public ?Node $self = null; public string $text = ''; }
        class Waits {
            public ?Waits $self = null;
            public function __destruct() { usleep(20_000); }
        }
        class Nested {
            public ?Nested $self = null;
            public function __destruct() {
                try {
                    (new Fiber(fn () => usleep(10_000)))->start();
                } catch (FiberError) { // before PHP 8.4
                }
            }
        }
        return function (Weft\Http\Request $request): string {
            static $weak = null;
            if ($request->path() === '/found') {
                $found = $weak?->get();
                usleep(40_000); // the collector is done
                for ($i = 0; $i < 500; $i++) {
                    $others[] = str_repeat('y', 40 + $i % 8);
                }
                return $found ? 'found ' . $found->text : 'nothing';
            }
            $node = new Node();
            [$node->self, $node->text] = [$node, str_repeat('x', 40 + mt_rand(0, 3))];
            $weak = WeakReference::create($node);
            [$waits, $nested] = [new Waits(), new Nested()];
            [$waits->self, $nested->self] = [$waits, $nested];
            unset($node, $waits, $nested);
            return (string) gc_collect_cycles();
        };"#,
    )
    .start();
    for _ in 0..5 {
        let targets: Vec<String> =
            (0..12).map(|n| if n % 4 == 0 { "/collect".into() } else { "/found".into() }).collect();
        for (n, answer) in at_once(&running, &targets).iter().enumerate() {
            let rightly = if n % 4 == 0 {
                answer.parse::<u32>().is_ok()
            } else {
                answer == "nothing" || answer.contains(" xxxx")
            };
            assert!(rightly, "{n}: {answer}");
        }
    }
    assert!(!running.log().contains("was killed"), "{}", running.log());
}

/// Many requests collect at once, and their destructors wait, ask a helper, end in errors, and use Fibers.
#[test]
fn collections_of_many_requests_at_once_are_whole() {
    let running = Server::new(
        r#"class Ends {
            public ?Ends $self = null;
            public static int $ended = 0;
            public function __construct(private int $n) { $this->self = $this; }
            public function __destruct() {
                self::$ended++;
                match ($this->n % 4) {
                    0 => usleep(500),
                    1 => stream_get_contents(popen('echo', 'r')),
                    2 => (new Fiber(fn () => Fiber::suspend()))->start(), // before PHP 8.4 a FiberError
                    3 => gc_collect_cycles(),
                };
                if ($this->n % 16 === 5) {
                    throw new LogicException("of $this->n");
                }
            }
        }
        return function (Weft\Http\Request $request): string {
            static $made = 0;
            for ($i = 0; $i < 16; $i++) {
                $made++;
                new Ends($i);
                usleep(100);
            }
            try {
                gc_collect_cycles();
            } catch (LogicException | FiberError) {
            }
            return $request->path() === '/sum' ? $made - Ends::$ended . '' : 'ended';
        };"#,
    )
    .start();
    for _ in 0..5 {
        let targets = vec!["/".to_string(); 20];
        assert!(at_once(&running, &targets).iter().all(|answer| answer == "ended"), "{}", running.log());
    }
    assert_eq!(running.get("/sum").text(), "0");
}

#[test]
fn a_worker_that_never_blocked_does_not_speak_of_it() {
    let mut running =
        Server::new("return function () { usleep(1000); return file_get_contents(__FILE__, length: 5); };")
            .start();
    assert_eq!(running.get("/").text(), "<?php");
    assert_eq!(last_words(&mut running, "calls that blocked this worker: "), "");
}
