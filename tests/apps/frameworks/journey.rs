//! Every page and form, step by step, under weft and under nginx with php-fpm, each with its own site.

use weft_tests::services::{Fpm, MariaDb, Upstream};
use weft_tests::{Response, Server};

use super::site::{Framework, SETTINGS, Site};
use weft_tests::compare::same;
use weft_tests::visitor::Visitor;

/// The hidden fields of a form, which protect against forged requests.
pub fn hidden(page: &Response) -> Vec<(String, String)> {
    let text = page.text();
    let inputs = text.split("<input ").skip(1).filter_map(|rest| rest.split('>').next());
    let value = |input: &str, name: &str| {
        input
            .split_once(&format!("{name}=\""))
            .and_then(|(_, rest)| rest.split_once('"'))
            .map(|(value, _)| value.to_owned())
    };
    inputs
        .filter(|input| input.contains("hidden"))
        .filter_map(|input| Some((value(input, "name")?, value(input, "value")?)))
        .collect()
}

/// Submits a page's form, including its hidden fields.
pub fn fill(visitor: &mut Visitor, page: &str, fields: &[(&str, &str)]) -> Response {
    let form = visitor.get(page);
    let hidden = hidden(&form);
    assert!(!hidden.is_empty(), "{page} is no form: {}", form.text());
    let own = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let all: Vec<(&str, &str)> = own.chain(fields.iter().copied()).collect();
    visitor.post(page, &all)
}

pub fn log_in(visitor: &mut Visitor, name: &str, password: &str) -> Response {
    fill(visitor, "/login", &[("name", name), ("password", password)])
}

struct Twins {
    framework: Framework,
    ours: Visitor,
    theirs: Visitor,
}

impl Twins {
    fn step(&mut self, what: &str, work: impl Fn(&mut Visitor) -> Response) -> Response {
        let (ours, theirs) = (work(&mut self.ours), work(&mut self.theirs));
        same(&format!("{}: {what}", self.framework.name()), &ours, &theirs, self.framework.masks());
        ours
    }

    fn get(&mut self, target: &str) -> Response {
        self.step(&format!("GET {target}"), |visitor| visitor.get(target))
    }
}

fn authenticated(twins: &mut Twins) {
    assert!(twins.get("/").text().contains("Visit 1;"));
    assert!(twins.get("/").text().contains("Visit 2;"));
    let guarded = twins.get("/notes/new");
    assert_eq!((guarded.status, guarded.header("location")), (302, Some("http://site.test/login")));
    twins.step("a wrong password", |visitor| log_in(visitor, "visitor00x", "wrong"));
    let again = twins.get("/login");
    assert!(
        again.text().contains("class=\"error\"") && again.text().contains("visitor00x"),
        "{}",
        again.text()
    );
    let forged =
        twins.step("a forged form", |visitor| visitor.post("/login", &[("name", "a"), ("password", "b")]));
    assert!([302, 419].contains(&forged.status), "{}", forged.status);
    let done = twins.step("log in", |visitor| log_in(visitor, "visitor00x", "secret"));
    assert_eq!((done.status, done.header("location")), (302, Some("http://site.test/notes/new")));
    assert!(twins.get("/").text().contains("<p class=\"user\">visitor00x</p>"));
}

fn noted(twins: &mut Twins, sites: [&Site; 2], image: &[u8]) {
    let short = twins.step("a title that is too short", |visitor| {
        fill(visitor, "/notes/new", &[("title", "x"), ("text", "")])
    });
    let again = if short.status == 302 { twins.get("/notes/new") } else { short };
    assert!(again.text().contains("value=\"x\""), "{}", again.text());
    let text = "Äpfel & <b>Birnen</b>\r\nand a third line";
    let fields = [("title", "Grüße <i>"), ("text", text)];
    let kept = twins.step("a note", |visitor| fill(visitor, "/notes/new", &fields));
    assert_eq!(
        (kept.status, kept.header("location").is_some_and(|to| to.ends_with("/notes/1"))),
        (302, true)
    );
    let page = twins.get("/notes/1");
    for expected in ["“Grüße &lt;i&gt;” is kept.", "&lt;b&gt;Birnen", "not counted yet"] {
        assert!(page.text().contains(expected), "{expected}: {}", page.text());
    }
    assert!(!twins.get("/notes/1").text().contains("is kept"), "a flash message is said once");
    let pictured = twins.step("a note with a picture", |visitor| {
        let hidden = hidden(&visitor.get("/notes/new"));
        let own = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let all: Vec<(&str, &str)> = own.chain([("title", "A picture"), ("text", "of nothing")]).collect();
        visitor.upload("/notes/new", &all, "picture", ("a.png", image))
    });
    assert_eq!(pictured.status, 302, "{}", pictured.text());
    let page = twins.get("/notes/2");
    let picture = weft_tests::visitor::between(&page, "<img src=\"", "\"");
    assert_eq!(twins.get(&picture).body, image);
    let no_picture = twins.step("text as a picture", |visitor| {
        let hidden = hidden(&visitor.get("/notes/new"));
        let own = hidden.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let all: Vec<(&str, &str)> = own.chain([("title", "No picture"), ("text", "text")]).collect();
        visitor.upload("/notes/new", &all, "picture", ("a.png", b"some text"))
    });
    assert!([302, 422].contains(&no_picture.status), "{}", no_picture.text());
    sites.iter().for_each(|site| site.work());
    assert!(twins.get("/notes/1").text().contains("7 words"), "counted by the queue's worker");
}

fn read(twins: &mut Twins) {
    let pages = [
        "/",
        "/notes/1",
        "/notes/99",
        "/notes/x",
        "/api/notes",
        "/export",
        "/boom",
        "/old",
        "/none",
        "/index.php/api/notes",
    ];
    for page in pages {
        twins.get(page);
        twins.step(&format!("HEAD {page}"), |visitor| visitor.send("HEAD", page, "", b""));
    }
    twins.step("a method that is not allowed", |visitor| {
        visitor.json("DELETE", "/api/notes", &serde_json::json!({}))
    });
    assert_eq!(twins.get("/api/notes").json()[0]["title"], "Grüße <i>");
    assert!(twins.get("/export").text().contains("2,\"A picture\",\"of nothing\""));
    assert_eq!(twins.get("/boom").status, 500);
    assert_eq!(twins.get("/old").status, 410);
}

fn journey(framework: Framework, serve: fn(&Site) -> Server, flags: &[&str]) {
    let (database, upstream) = (MariaDb::start(), Upstream::start());
    let [ours, theirs] = ["ours", "theirs"].map(|name| Site::new(framework, name, &database, &upstream));
    let weft = flags.iter().fold(serve(&ours), |server, flag| server.with_flag(flag)).start();
    let fpm = Fpm::start(&theirs.docroot(), 4, &SETTINGS);
    let mut twins = Twins { framework, ours: Visitor::of(weft.address), theirs: Visitor::of(fpm.address) };
    authenticated(&mut twins);
    noted(&mut twins, [&ours, &theirs], &crate::image());
    read(&mut twins);
    twins.step("log out", |visitor| {
        let hidden = hidden(&visitor.get("/"));
        let own: Vec<(&str, &str)> =
            hidden.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        visitor.post("/logout", &own)
    });
    assert!(!twins.get("/").text().contains("visitor00x"));
    assert!(!weft.log().contains("instances:"), "{}", weft.log());
}

fn journeys(framework: Framework, serve: fn(&Site) -> Server) {
    journey(framework, serve, &[]);
    if crate::all() {
        journey(framework, serve, &["--verify-instances", "--yield-at-calls"]);
        journey(framework, serve, &["--slice-ms=0.1"]);
    }
}

#[test]
fn symfony_is_as_it_is_under_php_fpm() {
    journeys(Framework::Symfony, |site| site.server("20"));
}

#[test]
fn laravel_is_as_it_is_under_php_fpm() {
    journeys(Framework::Laravel, |site| site.server("20"));
}

#[test]
fn symfony_that_stays_loaded_is_as_it_is_under_php_fpm() {
    // Two, so that every few pages meet a kernel that has already served another visitor.
    journeys(Framework::Symfony, |site| site.resident("2"));
}
