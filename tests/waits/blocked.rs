//! Where Zend forbids a switch, a call blocks the whole worker. weft counts and reports such calls.

use weft_tests::Server;

use crate::last_words;

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
    assert!(line.contains("WARN") && line.contains("app.php:4: PHP forbids to switch"), "{line}");
}

#[test]
fn a_worker_that_never_blocked_does_not_speak_of_it() {
    let mut running =
        Server::new("return function () { usleep(1000); return file_get_contents(__FILE__, length: 5); };")
            .start();
    assert_eq!(running.get("/").text(), "<?php");
    assert_eq!(last_words(&mut running, "calls that blocked this worker: "), "");
}
