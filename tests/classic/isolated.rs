//! The state that instances keep in the C library and in thread-local variables: each instance has its own.

use std::process::Command;
use std::thread;

use weft_tests::{Response, Running, Server};

use crate::ask;

/// PHP: returns once `$n` requests have arrived.
const MEET: &str = r#"<?php
function meet(int $n): void {
    touch(__DIR__ . "/here-$_GET[n]");
    while (count(glob(__DIR__ . '/here-*')) < $n) {
        usleep(5_000);
    }
}
"#;

fn all(weft: &Running, count: usize) -> Vec<Response> {
    thread::scope(|scope| {
        let asked: Vec<_> =
            (0..count).map(|n| scope.spawn(move || ask(weft, "GET", &format!("/?n={n}"), ""))).collect();
        asked.into_iter().map(|one| one.join().expect("a response")).collect()
    })
}

#[test]
fn text_domains_are_bound_for_each_instance() {
    let page = MEET.to_owned()
        + r#"
        $none = [textdomain(null), bindtextdomain('shop', null)];
        $directory = __DIR__ . "/texts-$_GET[n]";
        mkdir($directory);
        if ($_GET['n'] % 3) {
            textdomain('shop');
            bindtextdomain('shop', $directory);
            bind_textdomain_codeset('shop', $_GET['n'] % 2 ? 'UTF-8' : 'ISO-8859-1');
        }
        meet(9);
        echo json_encode([$none, textdomain(null), basename(bindtextdomain('shop', null)), bind_textdomain_codeset('shop', null)]);"#;
    let weft = Server::of_docroot(&[("index.php", &page)])
        .with("--instances", "9")
        .with("--queue-timeout-ms", "100000")
        .start();
    for (n, response) in all(&weft, 9).iter().enumerate() {
        let said = response.json();
        let domain = if n % 3 == 0 { "messages" } else { "shop" };
        let directory = if n % 3 == 0 { "locale".into() } else { format!("texts-{n}") };
        assert_eq!(said[0][0], "messages", "{n}: {said}");
        assert_eq!(said[0][1], "/usr/share/locale", "{n}: {said}");
        assert_eq!(
            (said[1].as_str(), said[2].as_str()),
            (Some(domain), Some(directory.as_str())),
            "{n}: {said}"
        );
        if n % 3 > 0 {
            assert_eq!(said[3], if n % 2 == 1 { "UTF-8" } else { "ISO-8859-1" }, "{n}: {said}");
        }
    }
}

/// An extension that counts in a thread-local variable.
const COUNTER: &str = r#"
#include "php.h"
static __thread zend_long kept = 7;
static __thread char much[10000];
PHP_FUNCTION(kept)
{
    zend_long value = 0;
    if (zend_parse_parameters(ZEND_NUM_ARGS(), "|l", &value) == FAILURE) { return; }
    if (ZEND_NUM_ARGS()) { kept = value; much[9999] = (char) value; }
    RETURN_LONG(much[9999] == (char) (ZEND_NUM_ARGS() ? value : kept) || kept == 7 ? kept : -1);
}
ZEND_BEGIN_ARG_INFO_EX(arginfo, 0, 0, 0) ZEND_ARG_INFO(0, value) ZEND_END_ARG_INFO()
static const zend_function_entry functions[] = { PHP_FE(kept, arginfo) PHP_FE_END };
zend_module_entry keeper_module_entry = {
    STANDARD_MODULE_HEADER, "keeper", functions, NULL, NULL, NULL, NULL, NULL, "1", STANDARD_MODULE_PROPERTIES
};
ZEND_GET_MODULE(keeper)
"#;

#[test]
fn thread_local_variables_of_an_extension_are_the_instances_own() {
    let page = MEET.to_owned()
        + "$before = kept(); kept((int) $_GET['n'] + 10); meet(9); echo $before, ' ', kept();";
    let server = Server::of_docroot(&[("index.php", &page)]);
    // An extension belongs to each instance if it lies in the directory of PHP's extensions.
    let directory = server.directory().join("lib/php");
    std::fs::create_dir_all(&directory).expect("a directory");
    std::fs::write(directory.join("keeper.c"), COUNTER).expect("a file");
    let includes = weft_tests::php::config("--includes");
    let built = Command::new("gcc")
        .args(["-shared", "-fPIC", "-w", "-DCOMPILE_DL_KEEPER", "-o", "keeper.so", "keeper.c"])
        .args(includes.split_whitespace())
        .current_dir(&directory)
        .status();
    assert!(built.is_ok_and(|status| status.success()), "the extension was not compiled");
    let path = format!("extension={}", directory.join("keeper.so").display());
    let weft =
        server.with("--define", &path).with("--instances", "9").with("--queue-timeout-ms", "100000").start();
    for (n, response) in all(&weft, 9).iter().enumerate() {
        assert_eq!(response.text(), format!("7 {}", n + 10), "{n}");
    }
}
