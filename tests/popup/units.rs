//! The service's own unit tests: `weft php` runs PHPUnit.

use std::process::Command;

use weft_tests::command::{binary, finish};

use crate::service::examples;

#[test]
fn the_unit_tests_pass_under_weft() {
    let tests = examples().join("popup/tests");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut weft = Command::new(binary());
    weft.current_dir(directory.path()).args([
        "php",
        "/usr/bin/phpunit",
        "--do-not-cache-result",
        "--bootstrap",
    ]);
    let output = finish(weft.arg(tests.join("bootstrap.php")).arg(&tests));
    assert_eq!(output.code, Some(0), "{}{}", output.stdout, output.stderr);
    assert!(output.stdout.contains("\nOK ("), "{}", output.stdout);
}
