//! A reload takes new sites in, and lets go of old ones.

use crate::{get, server};

fn site(name: &str) -> String {
    format!("[[site]]\nnames = [\"{name}.example\"]\nroot = \"{name}\"\n")
}

#[test]
fn sites_come_and_go_with_a_reload() {
    let files =
        [("one/a.txt", "one"), ("two/a.txt", "two"), ("two/index.php", "<?php echo ini_get('precision');")];
    let mut weft = server(&site("one"), &files).with("--pid-file", "weft.pid").start();
    assert_eq!(
        (get(&weft, "one.example", "/a.txt").text(), get(&weft, "two.example", "/a.txt").status),
        ("one".into(), 421)
    );
    weft.write("weft.toml", &(site("one") + &site("two") + "[site.ini]\nprecision = 9\n"));
    let reload = |weft: &weft_tests::Running| weft.weft(&["reload", "--pid-file", "weft.pid"]);
    assert_eq!(reload(&weft).code, Some(0), "{}", weft.log());
    assert_eq!(
        (get(&weft, "one.example", "/a.txt").text(), get(&weft, "two.example", "/a.txt").text()),
        ("one".into(), "two".into())
    );
    assert_eq!(get(&weft, "two.example", "/").text(), "9");
    // A mistake changes nothing.
    weft.write("weft.toml", &(site("one") + &site("none")));
    let refused = reload(&weft);
    assert_ne!(refused.code, Some(0), "{}", refused.stdout);
    weft.wait_for_log("root: none: No such file or directory");
    assert_eq!(get(&weft, "two.example", "/a.txt").text(), "two");
    weft.write("weft.toml", &site("two"));
    assert_eq!(reload(&weft).code, Some(0), "{}", weft.log());
    assert_eq!(
        (get(&weft, "one.example", "/a.txt").status, get(&weft, "two.example", "/a.txt").text()),
        (421, "two".into())
    );
    assert!(weft.is_alive());
}
