//! A real browser: Debian's Chromium without a window, driven by WebDriver (W3C) over HTTP.
//!
//! Must not know what is tested with it. Invariant: the browser ends when the value is dropped, and leaves
//! nothing behind.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

use crate::services::free_port;
use crate::wait::{PATIENCE, until};

/// The key of an element's id, fixed by the standard.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A browser and its driver.
#[derive(Debug)]
pub struct Browser {
    driver: Child,
    address: SocketAddr,
    session: String,
    _profile: tempfile::TempDir,
}

/// Writes what Chromium reads of a user's authorities.
fn trust(home: &Path, authority: &Path) {
    let store = home.join(".pki/nssdb");
    std::fs::create_dir_all(&store).expect("the test's own directory");
    let store = format!("sql:{}", store.display());
    let run = |arguments: &[&str]| {
        let mut certutil = Command::new("certutil");
        let output = certutil.args(["-d", &store]).args(arguments).output().expect("certutil");
        assert!(output.status.success(), "certutil: {}", String::from_utf8_lossy(&output.stderr));
    };
    run(&["-N", "--empty-password"]);
    run(&["-A", "-t", "C,,", "-n", "authority", "-i", &authority.display().to_string()]);
}

impl Browser {
    /// Starts a browser with an empty profile.
    ///
    /// # Panics
    /// If chromedriver is missing, or cannot start a browser.
    pub fn start() -> Browser {
        Browser::start_with(None)
    }

    /// The same, and it trusts an authority whose certificate is in this file.
    ///
    /// # Panics
    /// As for [`Browser::start`], and if certutil is missing.
    pub fn trusting(authority: &Path) -> Browser {
        Browser::start_with(Some(authority))
    }

    fn start_with(authority: Option<&Path>) -> Browser {
        let port = free_port();
        let profile = tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        if let Some(authority) = authority {
            trust(profile.path(), authority);
        }
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
        // As root and in containers, Chromium has no sandbox and only a small /dev/shm.
        let arguments = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", &data];
        let wanted = json!({"capabilities": {"alwaysMatch": {"goog:chromeOptions": {"args": arguments}}}});
        let value = browser.call("POST", "/session", &wanted);
        browser.session = format!("/session/{}", value["sessionId"].as_str().expect("a session"));
        browser
    }

    /// Sends a WebDriver command; returns its value.
    ///
    /// # Errors
    /// The driver's answer.
    pub fn try_call(&self, method: &str, target: &str, body: &Value) -> Result<Value, Value> {
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

    /// Sends a WebDriver command that must succeed; returns its value.
    ///
    /// # Panics
    /// If it fails; the message holds the driver's answer.
    pub fn call(&self, method: &str, target: &str, body: &Value) -> Value {
        self.try_call(method, target, body)
            .unwrap_or_else(|error| panic!("{method} {target} {body}: {error}"))
    }

    /// Opens another tab; from now on the commands are for it. Returns its name.
    ///
    /// # Panics
    /// If the browser does not open it.
    pub fn new_tab(&self) -> String {
        let opened = self.call("POST", "/window/new", &json!({"type": "tab"}));
        let tab = opened["handle"].as_str().expect("a tab has a name").to_owned();
        self.switch_to(&tab);
        tab
    }

    /// The name of the tab for which the commands are.
    ///
    /// # Panics
    /// If it was closed.
    pub fn tab(&self) -> String {
        self.call("GET", "/window", &json!({})).as_str().expect("a tab has a name").to_owned()
    }

    /// From now on the commands are for this tab.
    pub fn switch_to(&self, tab: &str) {
        self.call("POST", "/window", &json!({"handle": tab}));
    }

    /// Closes the tab for which the commands are; [`Browser::switch_to`] MUST follow.
    pub fn close_tab(&self) {
        self.call("DELETE", "/window", &json!({}));
    }

    /// Opens a page.
    pub fn open(&self, url: &str) {
        self.call("POST", "/url", &json!({"url": url}));
    }

    /// Waits for an element; returns the path with which its commands begin.
    ///
    /// # Panics
    /// If it does not appear.
    pub fn element(&self, selector: &str) -> String {
        let query = json!({"using": "css selector", "value": selector});
        let found = until(selector, || self.try_call("POST", "/element", &query).ok());
        format!("/element/{}", found[ELEMENT].as_str().expect("an element has an id"))
    }

    /// Clicks on an element as soon as it is clickable.
    pub fn click(&self, selector: &str) {
        // The driver scrolls as the page wishes to be scrolled: where that is smooth, each attempt would begin anew and come too early.
        let scroll =
            "document.querySelector(arguments[0])?.scrollIntoView({behavior: 'instant', block: 'center'})";
        until(&format!("{selector} to be clicked"), || {
            let element = self.element(selector);
            self.try_call("POST", "/execute/sync", &json!({"script": scroll, "args": [selector]})).ok()?;
            self.try_call("POST", &format!("{element}/click"), &json!({})).ok()
        });
    }

    /// Replaces the text of a field.
    pub fn fill(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.call("POST", &format!("{element}/clear"), &json!({}));
        self.call("POST", &format!("{element}/value"), &json!({"text": text}));
    }

    /// Types into an element, after its text; for a file field, `text` is the file's path.
    pub fn type_into(&self, selector: &str, text: &str) {
        let element = self.element(selector);
        self.call("POST", &format!("{element}/value"), &json!({"text": text}));
    }

    /// From now on the commands are for the document of this frame; `None`: for the page's again.
    ///
    /// # Panics
    /// If the frame does not appear.
    pub fn in_frame(&self, selector: Option<&str>) {
        let id = selector.map(|selector| {
            let element = self.element(selector);
            json!({ELEMENT: element.trim_start_matches("/element/")})
        });
        self.call("POST", "/frame", &json!({"id": id}));
    }

    /// Runs a script in the page; returns its result.
    ///
    /// # Panics
    /// If it throws.
    pub fn run(&self, script: &str) -> Value {
        self.call("POST", "/execute/sync", &json!({"script": script, "args": []}))
    }

    /// Writes a screenshot of the window into a PNG file.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn screenshot(&self, path: &Path) {
        let png = self.call("GET", "/screenshot", &json!({}));
        std::fs::write(path, from_base64(png.as_str().expect("an image"))).expect("the screenshot's file");
    }

    /// Waits until an element has this text.
    ///
    /// # Panics
    /// If the text does not appear.
    pub fn wait_for_text(&self, selector: &str, expected: &str) {
        let text = |selector: &str| {
            let script = "return document.querySelector(arguments[0])?.textContent.trim()";
            self.try_call("POST", "/execute/sync", &json!({"script": script, "args": [selector]})).ok()
        };
        until(&format!("{selector} to be {expected:?}"), || (text(selector)? == expected).then_some(()));
    }
}

/// Sends one request; returns the status line and the body. It does not use the tests' response reader, because
/// chromedriver's responses differ in form.
fn exchange(address: SocketAddr, request: &str) -> io::Result<(String, Vec<u8>)> {
    let stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(PATIENCE * 3))?; // the first page takes a browser long
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
            // No process may be left in the group, least of all the browser.
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = self.driver.wait();
    }
}

/// RFC 4648 section 4; other characters are left out.
fn from_base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = text.bytes().filter_map(|byte| ALPHABET.iter().position(|known| *known == byte));
    let digits: Vec<usize> = digits.collect();
    let bytes = digits.chunks(4).flat_map(|four| {
        let bits = four.iter().enumerate().fold(0, |bits, (place, digit)| bits | digit << (18 - 6 * place));
        [16, 8, 0].map(|shift| (bits >> shift) as u8).into_iter().take(four.len() - 1)
    });
    bytes.collect()
}
