//! Settings from php.ini and from directories, and that none of one request's settings remain for the next.

use weft_tests::{Server, until};

use super::ask;

#[test]
fn user_ini_files_count_for_their_directory_and_below() {
    let show = "<?php echo ini_get('memory_limit'), ' ', ini_get('precision');";
    let files = [
        ("show.php", show),
        (".user.ini", "memory_limit = 77M\nprecision = 3\n"),
        ("sub/deep/show.php", show),
        ("sub/.user.ini", "precision = 5\n"),
        ("pre/.user.ini", "auto_prepend_file = before.inc\nauto_append_file = after.inc\n"),
        ("pre/before.inc", "<"),
        ("pre/after.inc", ">"),
        ("pre/show.php", show),
    ];
    let weft = Server::of_docroot(&files).with("--define", "user_ini.cache_ttl=0").start();
    assert_eq!(weft.get("/show.php").text(), "77M 3");
    assert_eq!(weft.get("/sub/deep/show.php").text(), "77M 5");
    assert_eq!(weft.get("/pre/show.php").text(), "<77M 3>");
    weft.write("public/.user.ini", "precision = 9\n");
    until("the cache to end", || weft.get("/show.php").text().ends_with(" 9").then_some(()));
    assert_eq!(weft.get("/sub/deep/show.php").text().split(' ').next_back(), Some("5"));
}

#[test]
fn user_ini_files_are_cached() {
    let files = [("show.php", "<?php echo ini_get('precision');"), (".user.ini", "precision = 4\n")];
    let weft = Server::of_docroot(&files).with("--define", "user_ini.cache_ttl=300").start();
    assert_eq!(weft.get("/show.php").text(), "4");
    weft.write("public/.user.ini", "precision = 8\n");
    assert_eq!(weft.get("/show.php").text(), "4");
}

#[test]
fn the_configured_time_limit_counts_whatever_the_request_before_has_set() {
    let spin = "<?php for (;;) { md5('a'); }";
    let files = [
        ("spin.php", spin),
        ("unlimited.php", "<?php set_time_limit(0); echo 'none';"),
        ("deep/spin.php", spin),
        ("deep/.user.ini", "max_execution_time = 2\n"),
    ];
    let mut weft = Server::of_docroot(&files).with("--define", "max_execution_time=1").start();
    assert_eq!(weft.get("/unlimited.php").text(), "none");
    assert_eq!(weft.get("/spin.php").status, 500);
    weft.wait_for_log("Maximum execution time of 1 second exceeded");
    assert_eq!(weft.get("/deep/spin.php").status, 500);
    weft.wait_for_log("Maximum execution time of 2 seconds exceeded");
    assert_eq!(weft.get("/unlimited.php").text(), "none");
}

#[test]
fn a_script_and_its_shutdown_run_in_its_directory() {
    let script = "<?php register_shutdown_function(fn () => print(' ' . getcwd()));
        echo getcwd(); if (isset($_GET['to'])) { chdir($_GET['to']); }";
    let weft = Server::of_docroot(&[("a.php", script), ("deep/a.php", script)]).start();
    let public = weft.directory().join("public").canonicalize().expect("it is there");
    let (public, deep) = (public.display().to_string(), public.join("deep").display().to_string());
    for _ in 0..3 {
        assert_eq!(weft.get("/a.php").text(), format!("{public} {public}"));
        assert_eq!(weft.get("/a.php?to=deep").text(), format!("{public} {deep}"));
        assert_eq!(weft.get("/deep/a.php").text(), format!("{deep} {deep}"));
        assert_eq!(weft.get("/deep/a.php?to=/").text(), format!("{deep} /"));
    }
}

#[test]
fn nothing_is_left_for_the_next_request() {
    let script = r#"<?php
        static $n = 0; $n++;
        $found = [$n, $GLOBALS['left'] ?? 'no', class_exists('Left', false), function_exists('left'), defined('LEFT'), getenv('LEFT_ENV'),
            ini_get('precision'), error_reporting() === E_ALL, basename(getcwd()), umask(), setlocale(LC_ALL, 0), date_default_timezone_get(),
            json_last_error(), strtok('/'), error_get_last(), session_status(), ob_get_level()];
        echo json_encode($found);
        $left = 'yes'; eval('class Left {} function left() {}'); define('LEFT', 1); ini_set('precision', 3); error_reporting(0);
        date_default_timezone_set('Asia/Tokyo'); json_decode('{'); strtok('a/b', '/'); @trigger_error('x'); ob_start();
        set_error_handler(fn () => true); set_exception_handler(fn () => true); libxml_use_internal_errors(true);
    "#;
    let weft = Server::of_docroot(&[("left.php", script)]).with("--define", "error_reporting=32767").start();
    let first = weft.get("/left.php").text();
    assert!(
        first.starts_with(r#"[1,"no",false,false,false,false"#) && first.contains("\"public\""),
        "{first}"
    );
    for _ in 0..20 {
        assert_eq!(weft.get("/left.php").text(), first);
    }
}

#[test]
fn coroutine_functions_work_or_say_why_not() {
    let script = r#"<?php
        $found = [Weft\Context::get('a', 'none')];
        Weft\Context::set('a', new ArrayObject([1]));
        Weft\defer(function () { echo ' deferred'; });
        try { Weft\go(fn () => 1); } catch (Error $error) { $found[] = str_contains($error->getMessage(), 'classic mode'); }
        try { Weft\timeout(0.02, fn () => sleep(20)); } catch (Weft\TimeoutException) { $found[] = 'timeout'; }
        echo json_encode($found);
    "#;
    let weft = Server::of_docroot(&[("a.php", script)]).start();
    let worker = weft.workers();
    for _ in 0..5 {
        assert_eq!(weft.get("/a.php").text(), r#"["none",true,"timeout"] deferred"#);
    }
    assert_eq!(weft.workers(), worker);
}

#[test]
fn sessions_last_from_request_to_request() {
    let script =
        "<?php session_save_path(__DIR__); session_start(); echo $_SESSION['n'] = ($_SESSION['n'] ?? 0) + 1;";
    let weft = Server::of_docroot(&[("count.php", script)]).with("--workers", "2").start();
    let first = weft.get("/count.php");
    let cookie =
        first.header("set-cookie").and_then(|cookie| cookie.split(';').next()).expect("a session").to_owned();
    for n in 2..6 {
        assert_eq!(ask(&weft, "GET", "/count.php", &format!("Cookie: {cookie}\r\n")).text(), n.to_string());
    }
    assert_eq!(weft.get("/count.php").text(), "1");
}

#[test]
fn a_script_is_compiled_once_and_again_when_it_changes() {
    let weft = Server::of_docroot(&[("v.php", "<?php echo 'one';")])
        .with("--define", "opcache.revalidate_freq=0")
        .with("--define", "opcache.file_update_protection=0")
        .with_file("preload.php", "<?php class Preloaded { const WORD = 'preloaded'; }")
        .with("--define", "opcache.preload=preload.php")
        .with("--define", "opcache.preload_user=root");
    // opcache compares whole seconds.
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    let file = std::fs::File::options().append(true).open(weft.directory().join("public/v.php"));
    file.and_then(|file| file.set_modified(earlier)).expect("a file of the test's own");
    let weft = weft.start();
    assert_eq!(weft.get("/v.php").text(), "one");
    weft.write("public/v.php", "<?php echo 'two and ', Preloaded::WORD;");
    until("the change", || (weft.get("/v.php").text() == "two and preloaded").then_some(()));
    weft.write("public/o.php", "<?php $s = opcache_get_status(false); var_export([$s['opcache_enabled'], $s['opcache_statistics']['num_cached_scripts'] > 0]);");
    assert_eq!(weft.get("/o.php").text().split_whitespace().collect::<String>(), "array(0=>true,1=>true,)");
}

#[test]
fn hundreds_of_requests_do_not_grow_the_workers_memory() {
    let script = "<?php class A { public $b; } $a = new A; $a->b = $a; $x = str_repeat('x', 1 << 20); echo strlen($x); if (isset($_GET['fail'])) { undefined(); }";
    let weft = Server::of_docroot(&[("a.php", script)]).start();
    let resident = || {
        let statm =
            std::fs::read_to_string(format!("/proc/{}/statm", weft.workers()[0])).expect("a living worker");
        statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("its resident pages") * 4
    };
    let mut client = weft.connect();
    let mut hundred = || {
        for n in 0..100 {
            client.get(if n % 10 == 0 { "/a.php?fail" } else { "/a.php" });
            assert_eq!(client.read().status, if n % 10 == 0 { 500 } else { 200 });
        }
    };
    hundred();
    let before = resident();
    hundred();
    hundred();
    hundred();
    let after = resident();
    assert!(after < before + 2_000, "{before} KiB became {after} KiB");
}

#[test]
fn the_name_of_the_sapi_and_the_functions_of_a_command_line_are_settings() {
    let show = "<?php echo PHP_SAPI, ' ', php_sapi_name(), ' ', json_encode(function_exists('pcntl_fork'));";
    let usual = Server::of_docroot(&[("show.php", show)]).start();
    assert_eq!(usual.get("/show.php").text(), "weft weft false");
    let other = Server::of_docroot(&[("show.php", show)])
        .with("--sapi-name", "fpm-fcgi")
        .with_flag("--process-functions")
        .start();
    assert_eq!(other.get("/show.php").text(), "fpm-fcgi fpm-fcgi true");
}

/// More than the table of functions has room for, so that it is compiled into a table that grows.
#[test]
fn a_file_of_many_functions_is_whole_although_functions_are_withheld() {
    let functions: String = (0..10_000).map(|n| format!("function f{n}() {{}}\n")).collect();
    let many = format!("<?php\n{functions}");
    let index = "<?php require 'many.php'; echo count(get_defined_functions()['user']);";
    let weft = Server::of_docroot(&[("index.php", index), ("many.php", &many)])
        .with("--define", "opcache.file_update_protection=0")
        .start();
    for _ in 0..3 {
        let answer = weft.get("/");
        assert_eq!((answer.status, answer.text()), (200, "10000".to_owned()), "{}", weft.log());
    }
}
