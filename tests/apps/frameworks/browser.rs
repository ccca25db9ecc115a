//! The notes application in a real browser: logging in, a form's refusals, a note with a picture. Screenshots are kept:
//! see `artefacts`.

use weft_tests::browser::Browser;
use weft_tests::services::{MariaDb, Upstream};

use super::site::{Framework, Site};
use crate::artefacts;

fn browse(framework: Framework) {
    let (database, upstream) = (MariaDb::start(), Upstream::start());
    let site = Site::new(framework, "browsed", &database, &upstream);
    let picture = site.path("picture.png");
    std::fs::write(&picture, crate::image()).expect("the site's own file");
    let weft = site.server("20").start();
    let address = format!("http://{}", weft.address);
    let browser = Browser::start();
    let shots = artefacts(framework.name());
    let shot = |name: &str| browser.screenshot(&shots.join(format!("{name}.png")));
    browser.open(&format!("{address}/notes/new"));
    browser.fill("[name=name]", "visitor07x");
    browser.fill("[name=password]", "wrong");
    browser.click("#login");
    browser.element(".error");
    shot("1-refused");
    browser.fill("[name=password]", "secret");
    browser.click("#login");
    browser.wait_for_text("h1", "A new note");
    browser.wait_for_text(".user", "visitor07x");
    browser.fill("[name=title]", "ab");
    browser.fill("[name=text]", "Some words");
    browser.click("#keep");
    browser.wait_for_text("h1", "A new note");
    shot("2-too-short");
    browser.fill("[name=title]", "A picture");
    browser.fill("[name=text]", "Some words");
    browser.type_into("[name=picture]", &picture.display().to_string());
    browser.click("#keep");
    browser.wait_for_text(".said", "“A picture” is kept.");
    let width = browser.run("return document.querySelector('img').decode().then(() => document.querySelector('img').naturalWidth)");
    assert_eq!(width, 64);
    shot("3-kept");
    site.work();
    browser.run("location.reload()");
    browser.wait_for_text(".words", "2 words");
    browser.open(&format!("{address}/"));
    browser.wait_for_text("ul a", "A picture");
    shot("4-list");
    browser.click("#logout");
    browser.wait_for_text("footer a", "Log in");
    shot("5-logged-out");
}

#[test]
fn symfony_in_a_browser() {
    browse(Framework::Symfony);
}

#[test]
fn laravel_in_a_browser() {
    browse(Framework::Laravel);
}
