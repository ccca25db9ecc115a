//! A visitor of a site, which keeps cookies and sends forms and files.
//!
//! Must not know any application. Invariant: visitors do not share cookies.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::{Client, Response};

/// The host name of every site here, on whatever port it is served: pages contain it.
pub const HOST: &str = "site.test";

const BOUNDARY: &str = "------------------------visitor";

/// Somebody at one server of the site.
#[derive(Debug, Clone)]
pub struct Visitor {
    address: SocketAddr,
    cookies: BTreeMap<String, String>,
    headers: Vec<String>,
}

impl Visitor {
    /// Somebody whom the site does not know.
    pub fn of(address: SocketAddr) -> Visitor {
        Visitor { address, cookies: BTreeMap::new(), headers: Vec::new() }
    }

    /// The same visitor, with the same cookies, at another server of the site.
    pub fn at(&self, address: SocketAddr) -> Visitor {
        Visitor { address, ..self.clone() }
    }

    /// Another visitor, whom the site does not know.
    pub fn stranger(&self) -> Visitor {
        Visitor::of(self.address)
    }

    /// Sends this header line with every request from now on.
    pub fn with_header(mut self, name: &str, value: &str) -> Visitor {
        self.set_header(name, value);
        self
    }

    /// Sends this header line with every request from now on, in place of another of that name.
    pub fn set_header(&mut self, name: &str, value: &str) {
        self.headers.retain(|line| !line.starts_with(&format!("{name}: ")));
        self.headers.push(format!("{name}: {value}"));
    }

    /// Asks for a page.
    pub fn get(&mut self, target: &str) -> Response {
        self.send("GET", target, "", b"")
    }

    /// Posts the fields of a form.
    pub fn post(&mut self, target: &str, fields: &[(&str, &str)]) -> Response {
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
        self.send("POST", target, "application/x-www-form-urlencoded", pairs.join("&").as_bytes())
    }

    /// Posts the fields of a form and one PNG file.
    pub fn upload(
        &mut self,
        target: &str,
        fields: &[(&str, &str)],
        field: &str,
        file: (&str, &[u8]),
    ) -> Response {
        let mut body = Vec::new();
        for (name, value) in fields {
            let part =
                format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{value}\r\n");
            body.extend(part.into_bytes());
        }
        let (name, bytes) = file;
        let part = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{field}\"; filename=\"{name}\"\r\nContent-Type: image/png\r\n\r\n"
        );
        body.extend(part.into_bytes());
        body.extend(bytes);
        body.extend(format!("\r\n--{BOUNDARY}--\r\n").into_bytes());
        self.send("POST", target, &format!("multipart/form-data; boundary={BOUNDARY}"), &body)
    }

    /// Sends JSON.
    pub fn json(&mut self, method: &str, target: &str, body: &serde_json::Value) -> Response {
        self.send(method, target, "application/json", body.to_string().as_bytes())
    }

    /// Sends a request with this body, which GET and HEAD do not have, and takes the cookies of its response.
    pub fn send(&mut self, method: &str, target: &str, content_type: &str, body: &[u8]) -> Response {
        let mut head = format!("{method} {target} HTTP/1.1\r\nHost: {HOST}\r\nUser-Agent: visitor\r\n");
        if !self.cookies.is_empty() {
            let pairs: Vec<String> =
                self.cookies.iter().map(|(name, value)| format!("{name}={value}")).collect();
            head += &format!("Cookie: {}\r\n", pairs.join("; "));
        }
        self.headers.iter().for_each(|line| head += &format!("{line}\r\n"));
        if method != "GET" && method != "HEAD" {
            head += &format!("Content-Type: {content_type}\r\nContent-Length: {}\r\n", body.len());
        }
        let mut client = Client::connect(self.address);
        client.send([head.as_bytes(), b"\r\n", body].concat());
        let response = if method == "HEAD" { client.read_of_head() } else { client.read() };
        response.all("set-cookie").into_iter().for_each(|line| self.take(line));
        response
    }

    fn take(&mut self, line: &str) {
        let (pair, attributes) = line.split_once(';').unwrap_or((line, ""));
        let Some((name, value)) = pair.split_once('=') else { return };
        if attributes.contains("Max-Age=0") {
            self.cookies.remove(name);
        } else {
            self.cookies.insert(name.to_owned(), value.to_owned());
        }
    }
}

/// Encodes text as forms do (application/x-www-form-urlencoded).
pub fn escaped(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

/// The text between these two in a page.
///
/// # Panics
/// If the page does not contain both; the message holds the page.
pub fn between(response: &Response, before: &str, after: &str) -> String {
    let text = response.text();
    let found = text.split_once(before).and_then(|(_, rest)| rest.split_once(after));
    let head = (&response.status_line, &response.headers);
    let found = found.unwrap_or_else(|| panic!("no {before:?} … {after:?} in {head:?}: {text}"));
    found.0.to_owned()
}
