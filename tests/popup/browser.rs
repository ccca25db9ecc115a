//! The home page and the admin page in a real browser: Debian's Chromium, driven by WebDriver (W3C) over HTTP.
//!
//! Invariant: the browser ends with the test, and keeps nothing.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use weft_tests::services::free_port;
use weft_tests::{PATIENCE, until};

use crate::service::{TOKEN, service, start};

/// The key of an element's id, fixed by the standard.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    fn start() -> Browser {
        let port = free_port();
        let profile = tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        let mut driver = Command::new("setpriv");
        driver.args(["--pdeathsig", "TERM", "chromedriver", &format!("--port={port}")]);
        driver.process_group(0).current_dir(profile.path());
        driver.env("HOME", profile.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let driver = driver.spawn().expect("chromedriver");
        let mut browser = Browser {
            driver,
            address: ([127, 0, 0, 1], port).into(),
            session: String::new(),
            _profile: profile,
        };
        until("chromedriver to listen", || TcpStream::connect(browser.address).ok());
        let data = format!("--user-data-dir={}", browser._profile.path().display());
        // As root, and in containers, Chromium has no sandbox and no large /dev/shm.
        let arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", &data];
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}});
        let value = browser.call("POST", "/session", &wanted);
        browser.session = format!("/session/{}", value["sessionId"].as_str().expect("a session"));
        browser
    }

    /// A command of WebDriver; its value.
    fn try_call(&self, method: &str, target: &str, body: &Value) -> Result<Value, Value> {
        let body = if method == "POST" { body.to_string() } else { String::new() };
        let head = format!(
            "{method} {}{target} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n",
            self.session,
            body.len()
        );
        let (status, json) =
            exchange(self.address, &(head + &body)).map_err(|error| json!(error.to_string()))?;
        let value =
            serde_json::from_slice::<Value>(&json).map_err(|error| json!(error.to_string()))?["value"].take();
        if status.starts_with("HTTP/1.1 200") { Ok(value) } else { Err(value) }
    }

    fn call(&self, method: &str, target: &str, body: &Value) -> Value {
        self.try_call(method, target, body)
            .unwrap_or_else(|error| panic!("{method} {target} {body}: {error}"))
    }

    fn open(&self, url: &str) {
        self.call("POST", "/url", &json!({"url": url}));
    }

    /// Waits for an element.
    fn element(&self, selector: &str) -> String {
        let query = json!({"using": "css selector", "value": selector});
        let found = until(selector, || self.try_call("POST", "/element", &query).ok());
        format!("/element/{}", found[ELEMENT].as_str().expect("an element has an id"))
    }

    fn click(&self, selector: &str) {
        until(selector, || {
            let element = self.element(selector);
            self.try_call("POST", &format!("{element}/click"), &json!({})).ok()
        });
    }

    fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.call("POST", &format!("{element}/clear"), &json!({}));
        self.call("POST", &format!("{element}/value"), &json!({"text": text}));
    }

    /// Waits until an element's text is this.
    fn wait_for_text(&self, selector: &str, expected: &str) {
        let text = |selector: &str| {
            let script = "return document.querySelector(arguments[0])?.textContent.trim()";
            self.try_call("POST", "/execute/sync", &json!({"script": script, "args": [selector]})).ok()
        };
        until(&format!("{selector} to be {expected:?}"), || (text(selector)? == expected).then_some(()));
    }
}

/// One request; the status line and the body. Not by the tests' reader of responses: chromedriver's have a form of their own.
fn exchange(address: SocketAddr, request: &str) -> io::Result<(String, Vec<u8>)> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE * 3))?; // a browser's first page takes its time
    (&stream).write_all(request.as_bytes())?;
    let mut reader = BufReader::new(stream);
    let (mut status, mut length) = (String::new(), 0);
    reader.read_line(&mut status)?;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? <= 2 {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok((status, body))
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.try_call("DELETE", "", &json!({}));
        if let Some(group) = Pid::from_raw(self.driver.id() as i32) {
            // Nobody may be left in it, the browser least of all.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.driver.wait();
    }
}

#[test]
fn a_pop_up_from_its_making_to_its_click() {
    let weft = start(service());
    let site = format!("http://{}", weft.address);
    let browser = Browser::start();
    browser.open(&format!("{site}/admin"));
    browser.fill("[name=token]", "wrong");
    browser.click("button");
    browser.wait_for_text(".error", "That is not the token.");
    browser.fill("[name=token]", TOKEN);
    browser.click("button");
    browser.click("a.button");
    browser.fill("[name=title]", "Äpfel & <Birnen>");
    browser.fill("[name=url]", "no address");
    browser.click("form button");
    browser.wait_for_text("#url-error", "An address begins with https://, http:// or /, and has no spaces");
    browser.fill("[name=url]", "/fruit");
    browser.click("form button");
    browser.wait_for_text("tr[data-id='1'] a", "Äpfel & <Birnen>");
    browser.wait_for_text("tr[data-id='1'] .state", "active");

    // The home page of a user, in another window; the list stays open and follows.
    let list = browser.call("GET", "/window", &json!({}));
    let window = browser.call("POST", "/window/new", &json!({"type": "window"}));
    browser.call("POST", "/window", &json!({"handle": window["handle"]}));
    browser.open(&site);
    until("the pop-up", || {
        // The configuration may not have reached the worker that was asked.
        let open = json!({"script": "return document.querySelector('dialog').open", "args": []});
        if browser.call("POST", "/execute/sync", &open) == true {
            return Some(());
        }
        let again = json!({"script": "document.querySelector('#other').click()", "args": []});
        browser.call("POST", "/execute/sync", &again);
        None
    });
    browser.wait_for_text("#title", "Äpfel & <Birnen>");
    browser.click("#click");
    until("the answer to the next question", || {
        let log = json!({"script": "return document.querySelector('#log').textContent", "args": []});
        let log = browser.call("POST", "/execute/sync", &log);
        log.as_str().is_some_and(|text| text.contains("\"operation\":\"clicked\"}\n  200 ")).then_some(())
    });
    browser.call("DELETE", "/window", &json!({}));
    browser.call("POST", "/window", &json!({"handle": list}));
    browser.wait_for_text("[data-count='1-3']", "1");
    browser.click("tr[data-id='1'] button");
    browser.wait_for_text("tr[data-id='1'] .state", "paused");
    browser.click("form[action='/admin/logout'] button");
    browser.element("[name=token]");
}
