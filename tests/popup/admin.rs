//! The admin page over HTTP: who has access, what is refused, and how soon a change takes effect.

use std::time::{Duration, Instant};

use weft_tests::until;

use crate::service::{Admin, ask, ask_until_shown, health, service, start};

#[test]
fn nothing_without_signing_in() {
    let weft = start(service());
    assert!(weft.get("/admin").text().contains("Admin token"));
    for target in ["/admin/counts", "/admin/configurations/new", "/admin/configurations/1", "/admin/x"] {
        assert_eq!(weft.get(target).status, 401, "{target}");
    }
    let mut stranger = Admin::sign_in(&weft);
    stranger.cookie = stranger.cookie.replace("popup_admin=1", "popup_admin=9");
    assert_eq!(stranger.get("/admin/counts").status, 401, "a cookie that was changed");
    stranger.cookie = "popup_admin=9999999999.abc.".into();
    assert_eq!(stranger.get("/admin/counts").status, 401, "a cookie without a signature");
    let response = stranger.post("/admin/login", &[("token", "open")]);
    assert!(response.status == 401 && response.text().contains("That is not the token."));
    assert_eq!(response.all("set-cookie").len(), 0);
}

#[test]
fn a_form_of_another_site_changes_nothing() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    let fields =
        [("title", "Evil"), ("url", "/"), ("priority", "0"), ("interval_h", "1"), ("percentage", "100")];
    let response = admin.post("/admin/configurations", &fields);
    assert_eq!(response.status, 403, "without the form token");
    let other = Admin::sign_in(&weft);
    let response = admin.post("/admin/configurations", &[&fields[..], &[("csrf", &other.csrf)]].concat());
    assert_eq!(response.status, 403, "with another session's form token");
    let body = format!("csrf={}", admin.csrf);
    let response = weft.say(format!(
        "POST /admin/configurations/1/pause HTTP/1.1\r\nHost: weft.test\r\nSec-Fetch-Site: cross-site\r\nCookie: {}\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        admin.cookie,
        body.len()
    ));
    assert_eq!(response.status, 403, "the browser says that it comes from elsewhere");
    assert!(!admin.get("/admin").text().contains("Evil"));
    let body = "token=open%20sesame";
    let response = weft.say(format!(
        "POST /admin/login HTTP/1.1\r\nHost: weft.test\r\nSec-Fetch-Site: cross-site\r\n\
         Content-Type: application/x-www-form-urlencoded\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    ));
    assert_eq!(
        (response.status, response.all("set-cookie").len()),
        (403, 0),
        "nor is anybody signed in from there"
    );
    admin.send("/admin/logout", &[]);
}

#[test]
fn pages_and_their_files_take_nothing_from_elsewhere() {
    let weft = start(service());
    for target in ["/", "/home.js", "/style.css", "/admin", "/admin/admin.js"] {
        let response = weft.get(target);
        let policy = response.header("content-security-policy").unwrap_or_default();
        assert!(
            policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"),
            "{target}"
        );
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"), "{target}");
    }
    for page in ["/", "/admin"] {
        let html = weft.get(page).text();
        assert!(
            !html.contains("style=") && !html.contains("onclick=") && !html.contains("<script>"),
            "{page}"
        );
    }
}

#[test]
fn wrong_fields_are_named_and_kept() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    let fields = [
        ("title", ""),
        ("url", "javascript:alert(1)"),
        ("priority", "high"),
        ("interval_h", "0"),
        ("percentage", "101"),
        ("from", "2030-01-02T00:00"),
        ("until", "2030-01-01T00:00"),
        ("users", "good b'ad"),
        ("platforms", "iOS"),
        ("version_min", "1.x"),
    ];
    let response = admin.send("/admin/configurations", &fields);
    let page = response.text();
    assert_eq!(response.status, 422);
    for field in
        ["title", "url", "priority", "interval_h", "percentage", "until", "users", "platforms", "version_min"]
    {
        assert!(page.contains(&format!("id=\"{field}-error\"")), "{field} is not named: {page}");
    }
    assert!(page.contains("value=\"javascript:alert(1)\"") && page.contains("good b&apos;ad"), "{page}");
    assert!(admin.get("/admin").text().contains("There are none yet."));
}

#[test]
fn a_configuration_is_shown_and_can_be_changed() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    admin.create(
        "<b>Ä & \"co\"</b>",
        &[("users", "ada"), ("version_max", "9.9"), ("percentage", "12.5"), ("from", "2020-02-03T04:05")],
    );
    let list = admin.get("/admin");
    assert!(list.text().contains("&lt;b&gt;Ä &amp; &quot;co&quot;&lt;/b&gt;"), "{}", list.text());
    assert!(
        list.header("content-security-policy")
            .is_some_and(|policy| policy.contains("frame-ancestors 'none'"))
    );
    let form = admin.get("/admin/configurations/1").text();
    for text in
        ["value=\"9.9\"", "value=\"12.5\"", "value=\"2020-02-03T04:05\"", "\nada</textarea>", "value=\"24\""]
    {
        assert!(form.contains(text), "{text}: {form}");
    }
    let changed =
        [("title", "Plain"), ("url", "/x"), ("priority", "3"), ("interval_h", "0.5"), ("percentage", "100")];
    assert_eq!(admin.send("/admin/configurations/1", &changed).status, 303);
    assert_eq!(ask_until_shown(&weft, "bob")["title"], "Plain");
    assert_eq!(admin.get("/admin/configurations/2").status, 404);
}

#[test]
fn a_change_is_known_to_all_workers_soon() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    let mut number = 0;
    let mut all = |shown: bool| {
        number += 1;
        (0..12).all(|i| ask(&weft, &format!("u{number}-{i}")).is_null() != shown)
    };
    until("the configuration to be known", || all(true).then_some(()));
    for (action, shown) in [("pause", false), ("resume", true)] {
        let start = Instant::now();
        assert_eq!(admin.send(&format!("/admin/configurations/1/{action}"), &[]).status, 303);
        until("the change to be known", || all(shown).then_some(()));
        // It takes at most a second; a slow machine may need more.
        assert!(start.elapsed() < Duration::from_secs(10), "{action} took {:?}", start.elapsed());
    }
    assert_eq!(health(&weft)["workers"], 2);
}

#[test]
fn there_is_room_for_28() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    for number in 0..28 {
        admin.create(&format!("Number {number}"), &[]);
    }
    let fields =
        [("title", "One more"), ("url", "/"), ("priority", "0"), ("interval_h", "1"), ("percentage", "100")];
    let response = admin.send("/admin/configurations", &fields);
    assert_eq!((response.status, response.json()["error"]["code"].as_str()), (409, Some("too_many")));
    let over = [&fields[..], &[("until", "2001-01-01T00:00")]].concat();
    assert_eq!(admin.send("/admin/configurations/1", &over).status, 303, "one ends");
    assert_eq!(admin.send("/admin/configurations", &fields).status, 303);
}
