//! What is wrong with a file's sites, each in one line.

use weft_tests::command;

#[test]
fn each_mistake_has_a_line() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["one", "two"] {
        std::fs::create_dir(directory.path().join(name)).expect("a new directory");
    }
    std::fs::write(directory.path().join("app.php"), "<?php return fn () => '';").expect("our own file");
    let site = |name: &str| format!("[[site]]\nnames = [\"{name}\"]\nroot = \"one\"\n");
    let one = site("a.example");
    for (text, expected) in [
        (
            "[[site]]\nroot = \"one\"".into(),
            "weft.toml:1: a site needs names, its host names, or default = true",
        ),
        ("[[site]]\nnames = [\"a.example\"]".into(), "weft.toml:1: a site needs root, its document root"),
        (site("a.example") + "rot = 1", "weft.toml:4: unknown key rot in [[site]] (did you mean root?)"),
        (site("a.example") + "workers = 1", "weft.toml:4: workers is for all sites: put it under [server]"),
        (
            site("http://a.example"),
            "weft.toml:2: names: \"http://a.example\" is a URL: write only its host name",
        ),
        (site("a.example:80"), "weft.toml:2: names: \"a.example:80\" has a port"),
        (site("*"), "weft.toml:2: names: \"*\" is no host name: write default = true"),
        (site("a.*.example"), "\"a.*.example\" is not a host name: write a.example or *.a.example"),
        (site("ä.example"), "\"ä.example\" is not ASCII: write it as DNS does, beginning with xn--"),
        (site("a..example"), "is not a host name"),
        (site("[::g]"), "is not an IPv6 address in brackets"),
        (
            one.clone() + &site("A.EXAMPLE"),
            "weft.toml:4: a.example is also a name of the site at weft.toml:1: a name has one site",
        ),
        (
            "[[site]]\nnames = [\"a.example\", \"a.example\"]\nroot = \"one\"".into(),
            "weft.toml:1: names has a.example twice: remove one",
        ),
        (
            one.clone() + "default = true\n" + &site("b.example") + "default = true\n",
            "weft.toml:5: the site at weft.toml:1 is the default already",
        ),
        (
            "[[site]]\nnames = [\"a.example\"]\nroot = \"none\"".into(),
            "weft.toml:1: root: none: No such file or directory",
        ),
        (
            "[[site]]\nnames = [\"a.example\"]\nroot = \"app.php\"".into(),
            "weft.toml:1: root: app.php is a file: name it as application if it stays loaded",
        ),
        (
            format!("[server]\napplication = \"one\"\n{one}"),
            "weft.toml:3: the application one is named beside sites: leave it out, or make it the root of a site",
        ),
        (
            format!("[server]\nmode = \"coroutine\"\n{one}"),
            "weft.toml:3: a site is a document root, or has an application in resident mode: leave mode out; coroutine mode needs \
             a weft of its own",
        ),
        (
            format!("[resident]\nscript = \"app.php\"\n{one}"),
            "weft.toml:3: a worker script is named beside sites: name it in its [[site]], as worker",
        ),
        (one.clone() + "application = \"app.php\"", "weft.toml:1: a site has root or application, not both"),
        (
            "[[site]]\nnames = [\"a.example\"]\nworker = \"app.php\"".into(),
            "weft.toml:1: worker needs root, whose files it lies beside",
        ),
        (one.clone() + "instances_max = 3", "weft.toml:1: instances_max is for an application that stays loaded"),
        (one.clone() + "requests_max = 3", "weft.toml:1: requests_max is for an application that stays loaded"),
        (
            "[[site]]\nnames = [\"a.example\"]\napplication = \"app.php\"\ntry = [\"$path\"]".into(),
            "weft.toml:1: try is for a document root: name root and worker in place of application",
        ),
        (
            one.clone() + "worker = \"app.php\"\ninstances_max = 5000",
            "weft.toml:5: instances_max: 5000 is out of range: allowed are 0 to 4096",
        ),
        (
            one.clone() + "worker = \"app.php\"\ninstances_max = 4096\n" + &site("b.example"),
            "weft.toml:1: the sites have 4146 PHP instances in each worker, and at most 4096 are possible",
        ),
        (one.clone() + "worker = \"none.php\"", "weft.toml:1: worker: none.php: No such file or directory"),
        (
            "[[site]]\nnames = [\"a.example\"]\napplication = \"two\"".into(),
            "weft.toml:1: application: two is a directory, and what stays loaded is a script",
        ),
        (
            one.clone() + "files = \"two\"",
            "weft.toml:4: files is not for sites: name the directory as root",
        ),
        (
            one.clone() + "[site.ini]\nmemroy_limit = \"1M\"",
            "weft.toml:1: ini: PHP has no setting memroy_limit",
        ),
        (
            one.clone() + "[site.admin_ini]\ndate.timezoan = \"UTC\"",
            "weft.toml:1: ini: PHP has no setting date.timezoan",
        ),
        (
            one.clone() + "[site.ini]\ndisable_functions = \"exec\"",
            "disable_functions counts when PHP starts, for all sites",
        ),
        (
            one.clone() + "[site.ini]\nopcache.enable = 0",
            "opcache.enable counts when PHP starts, for all sites",
        ),
        (
            one.clone() + "[site.environment]\n\"A B\" = \"x\"",
            "environment: \"A B\" cannot be an environment variable",
        ),
        (
            one.clone() + "body_bytes_max = \"much\"",
            "weft.toml:4: body_bytes_max: expected a number of bytes",
        ),
        (one.clone() + "shares = [\"path x\"]", "weft.toml:4: shares: \"path x\": expected the form"),
        (one.clone() + "[[site.rule]]\npath = \"/a\"\ndeny = 200", "weft.toml:6: deny: 200 is not one of"),
        (one.clone() + "[[site.rule]]\ndeny = 404", "weft.toml:4: a rule needs path or match"),
        (one.clone() + "certificates = [\"a.pem\"]", "weft.toml:1: certificates names 1 files and keys 0"),
        (
            one.clone() + "certificates = [\"a.pem\"]\nkeys = [\"a.key\"]",
            "weft.toml:1: certificates is set, but no address uses it: listen on https://HOST:PORT",
        ),
        (
            "[server]\nlisten = [\"https://127.0.0.1:0\"]\n[[site]]\ndefault = true\nroot = \"one\"\n".into(),
            "weft.toml:3: an https:// address needs a certificate",
        ),
        (
            "[server]\nlisten = [\"https://127.0.0.1:0\"]\n[[site]]\nnames = [\"*.a.example\"]\nroot = \"one\"\n".into(),
            "weft.toml:3: a certificate for *.a.example cannot be had by itself",
        ),
        ("site = 1".into(), "weft.toml:1: site is a list of tables: write [[site]] above each site"),
        ("[site]\nnames = [\"a.example\"]".into(), "weft.toml:1: site is a list of tables"),
    ] {
        std::fs::write(directory.path().join("weft.toml"), &text).expect("our own file");
        let output = command::weft(directory.path(), &["check"]);
        assert_eq!(output.code, Some(1), "{text}: {}", output.stdout);
        assert!(output.stderr.contains(expected), "{text}: {} instead of {expected}", output.stderr);
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let text =
        "[[site]]\nnames = [\"a.example\"]\nroot = \"x\"\n[[site]]\nnames = [\"b.example\"]\nroot = \"y\"\n";
    std::fs::write(directory.path().join("weft.toml"), text).expect("our own file");
    for verb in ["check", "serve"] {
        let output = command::weft(directory.path(), &[verb]);
        let lines: Vec<&str> = output.stderr.lines().collect();
        assert_eq!(output.code, Some(1), "{verb}");
        assert!(
            lines.len() == 2
                && lines[0].starts_with("weft: weft.toml:1: root: x: ")
                && lines[1].starts_with("weft: weft.toml:4: root: y: "),
            "{verb}: {lines:?}"
        );
    }
}

#[test]
fn what_sites_share_is_told() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for name in ["one", "two"] {
        std::fs::create_dir(directory.path().join(name)).expect("a new directory");
    }
    let check = |first: &str, second: &str| {
        let text = format!(
            "[[site]]\nnames = [\"a.example\"]\nroot = \"one\"\n{first}\n[[site]]\nnames = [\"b.example\"]\nroot = \"two\"\n{second}\n"
        );
        std::fs::write(directory.path().join("weft.toml"), &text).expect("our own file");
        let output = command::weft(directory.path(), &["check"]);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        output.stdout
    };
    let warning = "warning     sites keep their sessions at the same place";
    let ini = |path: &str| format!("[site.ini]\nsession.save_path = \"{path}\"");
    assert!(check("", "").contains(warning));
    assert!(check(&ini("/a"), &ini("/a")).contains(warning));
    assert!(!check(&ini("/a"), "").contains(warning));
    assert!(!check(&ini("/a"), &ini("/b")).contains(warning));
}
