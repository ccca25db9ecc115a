//! A command of a page whose wait is cut short: it ends, and nobody waits for it.

use weft_tests::{Running, Server, until};

/// Reads from a command that says nothing. `?catch`: for a short time only, in which a busy machine has started the command, and
/// the page goes on when the error is freed.
const PAGE: &str = "<?php
    ini_set('zend.exception_ignore_args', $_GET['ignored']);
    $work = fn () => fgets(popen('echo $$ > pid; exec sleep 300', 'r'));
    if (!isset($_GET['catch'])) { $work(); }
    try {
        Weft\\timeout(0.8, $work);
    } catch (Weft\\TimeoutException $late) {
        echo $late->getMessage();
        unset($late);
    }";

fn the_command_is_gone(weft: &Running) {
    let file = weft.path("public/pid");
    let pid = std::fs::read_to_string(&file).expect("the command has written its number");
    let process = format!("/proc/{}", pid.trim());
    until("the end of the command", || {
        // The loop collects it.
        assert_eq!(weft.get("/calm.php").text(), "calm");
        (!std::path::Path::new(&process).exists()).then_some(())
    });
    std::fs::remove_file(file).expect("the test's own file");
}

#[test]
fn a_command_whose_output_was_not_awaited_ends_whatever_the_error_keeps() {
    for instances in ["1", "4"] {
        let weft = Server::of_docroot(&[("page.php", PAGE), ("calm.php", "<?php echo 'calm';")])
            .with("--instances", instances)
            .with("--request-timeout-ms", "3000")
            .start();
        for ignored in ["0", "1"] {
            let caught = weft.get(&format!("/page.php?catch&ignored={ignored}"));
            assert_eq!((caught.status, caught.text().as_str()), (200, "Not done within 0.8 seconds"));
            the_command_is_gone(&weft);
            assert_eq!(weft.get(&format!("/page.php?ignored={ignored}")).status, 504, "{}", weft.log());
            the_command_is_gone(&weft);
        }
    }
}
