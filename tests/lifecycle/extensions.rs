//! Extensions that coroutine mode cannot isolate are named, and refused where requests would see each other's state.

use std::path::{Path, PathBuf};
use std::process::Command;

use weft_tests::{Output, Server, command, php};

const APPLICATION: &str = "return fn () => 'served';";

/// An extension of this name, whose globals have a size that no version of it has.
fn extension(directory: &Path, name: &str) -> PathBuf {
    let source = format!(
        "#include \"php.h\"\n\
         static struct {{ char bytes[4040]; }} globals;\n\
         static zend_module_entry module = {{STANDARD_MODULE_HEADER, \"{name}\", NULL, NULL, NULL, NULL, NULL, NULL, \"1\",\n\
         sizeof(globals), &globals, NULL, NULL, NULL, STANDARD_MODULE_PROPERTIES_EX}};\n\
         zend_module_entry *get_module(void);\n\
         __attribute__((visibility(\"default\"))) zend_module_entry *get_module(void) {{ return &module; }}\n"
    );
    std::fs::write(directory.join("extension.c"), source).unwrap();
    let mut compiler = Command::new("gcc");
    compiler.args(["-shared", "-fPIC", "-o", "extension.so", "extension.c"]);
    compiler.args(php::config("--includes").split_whitespace());
    let output = command::finish(compiler.current_dir(directory));
    assert_eq!(output.code, Some(0), "{output:?}");
    directory.join("extension.so")
}

/// A server whose PHP has this extension and none that is a file elsewhere.
fn server(name: &str) -> Server {
    let server = Server::new(APPLICATION);
    let file = extension(server.directory(), name);
    let define = format!("extension={}", file.display());
    server.with("-d", &define).with_variable("PHP_INI_SCAN_DIR", "")
}

fn weft(directory: &Path, arguments: &[&str], name: &str) -> Output {
    std::fs::write(directory.join("app.php"), format!("<?php {APPLICATION}")).unwrap();
    let define = format!("extension={}", extension(directory, name).display());
    let mut program = command::command(directory);
    command::finish(program.env("PHP_INI_SCAN_DIR", "").args(arguments).args(["-d", &define]))
}

#[test]
fn coroutine_mode_refuses_an_extension_whose_state_it_cannot_find() {
    for arguments in [["serve", "app.php"], ["check", "app.php"]] {
        let directory = tempfile::tempdir().unwrap();
        let outcome = weft(directory.path(), &arguments, "amqp");
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert_eq!(outcome.stderr.lines().count(), 1, "{outcome:?}");
        for part in ["the extension amqp", "--accept-shared-state amqp", "document root"] {
            assert!(outcome.stderr.contains(part), "{part:?} is missing: {outcome:?}");
        }
    }
}

#[test]
fn it_takes_the_extension_if_the_operator_accepts_that_and_says_so() {
    let mut weft = server("amqp").with("--accept-shared-state", "amqp").start();
    assert_eq!(weft.get("/").text(), "served");
    weft.wait_for_log("this build of the extension amqp keeps its state in a form that is not known here");
}

#[test]
fn a_document_root_does_not_depend_on_layouts() {
    let server = Server::of_docroot(&[("index.php", "<?php echo 'served';")]);
    let define = format!("extension={}", extension(server.directory(), "amqp").display());
    let weft = server.with("-d", &define).with_variable("PHP_INI_SCAN_DIR", "").start();
    assert_eq!(weft.get("/").text(), "served");
}

#[test]
fn an_extension_that_nobody_reviewed_is_named() {
    let mut weft = server("unheardof").start();
    assert_eq!(weft.get("/").text(), "served");
    weft.wait_for_log("nobody has reviewed for coroutine mode what these extensions keep: unheardof;");
}

#[test]
fn the_doctor_names_both_kinds() {
    let directory = tempfile::tempdir().unwrap();
    let report = weft(directory.path(), &["doctor", "--extensions"], "amqp");
    assert_eq!(report.code, Some(1), "{}", report.stderr);
    assert!(report.stdout.contains("unknown form amqp"), "{}", report.stdout);
    assert!(report.stdout.contains("--accept-shared-state amqp"), "{}", report.stdout);
    let report = weft(directory.path(), &["doctor", "--extensions", "--accept-shared-state", "amqp"], "amqp");
    assert!(report.stdout.contains("unknown form amqp"), "{}", report.stdout);
    assert!(!report.stdout.contains("cannot isolate the extension"), "{}", report.stdout);
    let report = weft(directory.path(), &["doctor", "--extensions", "--json"], "unheardof");
    assert!(report.stdout.contains("\"refused\": null"), "{}", report.stdout);
    assert!(report.stdout.contains("\"unreviewed\": [\n    \"unheardof\"\n  ]"), "{}", report.stdout);
}
