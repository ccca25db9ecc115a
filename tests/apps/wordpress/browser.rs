//! A site in a real browser over `https://localhost`, from its installation to a comment. Screenshots are kept: see `artefacts`.

use std::path::PathBuf;

use weft_tests::browser::Browser;
use weft_tests::services::{MariaDb, Upstream};
use weft_tests::until;

use super::journey::PASSWORD;
use super::site::Site;
use crate::artefacts;

struct Session {
    browser: Browser,
    site: String,
    shots: PathBuf,
}

impl Session {
    fn open(&self, path: &str) {
        self.browser.open(&format!("{}{path}", self.site));
    }

    fn shot(&self, name: &str) {
        self.browser.screenshot(&self.shots.join(format!("{name}.png")));
    }

    fn install(&self) {
        let browser = &self.browser;
        self.open("/");
        browser.type_into("#weblog_title", "Seen in a browser");
        browser.type_into("#user_login", "boss");
        self.choose_password();
        browser.type_into("#admin_email", "boss@site.test");
        self.shot("1-install");
        browser.click("#submit");
        browser.wait_for_text("h1", "Success!");
        self.shot("2-installed");
    }

    /// The page's script puts a password of its own into the field when it has loaded, and then judges the one that is typed.
    fn choose_password(&self) {
        let taken = format!(
            "return document.querySelector('#pass1').value === '{PASSWORD}' && !document.querySelector('#submit').disabled"
        );
        until("the password to be taken", || {
            self.browser.fill("#pass1", PASSWORD);
            self.browser.run(&taken).as_bool()?.then_some(())
        });
    }

    fn log_in(&self) {
        let browser = &self.browser;
        self.open("/wp-login.php");
        browser.fill("#user_login", "boss");
        browser.fill("#user_pass", PASSWORD);
        browser.click("#wp-submit");
        browser.wait_for_text(".wrap > h1", "Dashboard");
        self.shot("3-dashboard");
    }

    /// Uses the editor, which runs in the browser and uses the REST API.
    fn write(&self) {
        let browser = &self.browser;
        self.open("/wp-admin/post-new.php");
        // Later versions of the editor have the text in a frame.
        const EDITOR: &str = "return document.querySelector('.editor-post-title__input') ? 'page'
            : document.querySelector('iframe[name=editor-canvas]') ? 'frame' : null";
        let place = until("the editor", || browser.run(EDITOR).as_str().map(str::to_owned));
        // The welcome dialog appears late, or not at all.
        browser.run("wp.data.dispatch('core/edit-post').toggleFeature('welcomeGuide')");
        until("the editor without its welcome", || {
            browser
                .run("return document.querySelector('.components-modal__frame') === null")
                .as_bool()?
                .then_some(())
        });
        if place == "frame" {
            browser.in_frame(Some("iframe[name=editor-canvas]"));
        }
        browser.click(".editor-post-title__input");
        browser.type_into(".editor-post-title__input", "Written in a browser");
        browser.click(".block-editor-default-block-appender__content");
        browser.type_into("p.wp-block-paragraph, p.block-editor-rich-text__editable", "Some text.");
        browser.in_frame(None);
        self.shot("5-editor");
        browser.click(".editor-post-publish-panel__toggle");
        browser.click(".editor-post-publish-button");
        browser.element(".post-publish-panel__postpublish-header");
        self.shot("6-published");
    }

    fn upload(&self, image: &str) {
        let browser = &self.browser;
        self.open("/wp-admin/media-new.php?browser-uploader");
        browser.type_into("#async-upload", image);
        browser.click("#html-upload");
        browser.element(".attachment .thumbnail img, .media-icon img");
        self.shot("4-uploaded");
    }

    fn comment(&self) {
        let browser = &self.browser;
        self.open("/");
        browser.click(".wp-block-post-title a");
        browser.type_into("#comment", "Said in a browser");
        browser.click("#submit");
        until("the comment", || {
            let said = browser.run("return [...document.querySelectorAll('.wp-block-comment-content')].map(e => e.textContent).join()");
            said.as_str().is_some_and(|text| text.contains("Said in a browser")).then_some(())
        });
        self.shot("7-commented");
    }
}

#[test]
fn a_site_in_a_browser() {
    let (database, upstream) = (MariaDb::start(), Upstream::start());
    let site = Site::new("browsed", &database, &upstream);
    let server = site.server("20").with("--listen", "https://localhost:0");
    let weft = server.with("--acme-storage", "storage").start();
    let session = Session {
        browser: Browser::trusting(&weft.path("storage/local/authority.pem")),
        site: format!("https://localhost:{}", weft.address.port()),
        shots: artefacts("wordpress"),
    };
    session.install();
    session.log_in();
    session.upload(&site.image().display().to_string());
    session.write();
    session.comment();
}
