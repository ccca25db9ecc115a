//! A running pop-up service and the requests that the tests send to it.
//!
//! Must not know what a test is about. Invariant: the service keeps all its files in the directory of its test.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use weft_tests::{Client, PATIENCE, Response, Running, Server, until};

/// The token of every tested service.
pub const TOKEN: &str = "open sesame";

/// The repository's examples.
pub fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// The service, to be started: two workers, embedded storage, in its own directory.
pub fn service() -> Server {
    let application = examples().join("popup/app.php").canonicalize().expect("the example");
    let server = Server::new(&format!("return require '{}';", application.display()));
    let data = server.directory().join("data").display().to_string();
    let clock = server.directory().join("clock").display().to_string();
    server
        .with("--workers", "2")
        .with_variable("POPUP_DATA", &data)
        .with_variable("POPUP_CLOCK", &clock)
        .with_variable("POPUP_ADMIN_TOKEN", TOKEN)
}

/// Moves the service's clock forward.
pub fn pass(weft: &Running, seconds: u64) {
    let before: u64 = weft.read("clock").trim().parse().unwrap_or(0);
    weft.write("clock", &(before + seconds).to_string());
}

/// Sends a JSON request; returns the response.
pub fn post(client: &mut Client, target: &str, body: &Value) -> Response {
    client.post(target, "application/json", body.to_string());
    client.read()
}

/// The service's pop-up for a user; `Null` if there is none.
pub fn ask(weft: &Running, user: &str) -> Value {
    let response =
        post(&mut weft.connect(), "/v1/ask", &json!({"user": user, "platform": "ios", "version": "5.2.1"}));
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["popup"].clone()
}

/// Asks until there is a pop-up.
pub fn ask_until_shown(weft: &Running, user: &str) -> Value {
    until("a pop-up", || Some(ask(weft, user)).filter(|popup| !popup.is_null()))
}

/// Reports an operation.
pub fn report(client: &mut Client, popup: &Value, operation: &str) -> Response {
    post(client, "/v1/operations", &json!({"display": popup["display"], "operation": operation}))
}

/// The service's report on its health.
pub fn health(weft: &Running) -> Value {
    weft.get("/health").json()
}

/// Waits until no operation is still on its way to the database.
pub fn settled(weft: &Running) {
    until("the queues to be empty", || {
        let health = health(weft);
        (health["queues"]["depth"] == 0 && health["queue"]["depth"] == 0 && health["status"] == "ok")
            .then_some(())
    });
}

/// A user of the admin page.
pub struct Admin<'a> {
    weft: &'a Running,
    /// The cookie of the session, as a header field.
    pub cookie: String,
    /// The form token of the session.
    pub csrf: String,
}

impl Admin<'_> {
    /// Signs in.
    pub fn sign_in(weft: &Running) -> Admin<'_> {
        let mut admin = Admin { weft, cookie: String::new(), csrf: String::new() };
        let response = admin.post("/admin/login", &[("token", TOKEN)]);
        assert_eq!(
            (response.status, response.header("location")),
            (303, Some("/admin")),
            "{}",
            response.text()
        );
        let cookie = response.header("set-cookie").expect("a session");
        assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"), "{cookie}");
        admin.cookie = cookie.split(';').next().expect("split gives one").to_string();
        let page = admin.get("/admin/configurations/new").text();
        let from = page.split("name=\"csrf\" value=\"").nth(1).expect("a form token");
        admin.csrf = from.split('"').next().expect("split gives one").to_string();
        admin
    }

    /// Gets a page.
    pub fn get(&self, target: &str) -> Response {
        self.weft.say(format!("GET {target} HTTP/1.1\r\nHost: weft.test\r\nCookie: {}\r\n\r\n", self.cookie))
    }

    /// Sends a form, without the form token.
    pub fn post(&self, target: &str, fields: &[(&str, &str)]) -> Response {
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{name}={}", encoded(value))).collect();
        let body = pairs.join("&");
        self.weft.say(format!(
            "POST {target} HTTP/1.1\r\nHost: weft.test\r\nCookie: {}\r\nContent-Length: {}\r\n\
             Content-Type: application/x-www-form-urlencoded\r\n\r\n{body}",
            self.cookie,
            body.len()
        ))
    }

    /// Sends a form of the admin page.
    pub fn send(&self, target: &str, fields: &[(&str, &str)]) -> Response {
        self.post(target, &[fields, &[("csrf", self.csrf.as_str())]].concat())
    }

    /// Creates a configuration for everybody, with changes from `fields`.
    pub fn create(&self, title: &str, fields: &[(&str, &str)]) {
        let mut all = vec![
            ("title", title),
            ("body", "Text"),
            ("url", "/there"),
            ("priority", "0"),
            ("interval_h", "24"),
            ("percentage", "100"),
        ];
        all.retain(|(name, _)| !fields.iter().any(|(other, _)| other == name));
        all.extend(fields);
        let response = self.send("/admin/configurations", &all);
        assert_eq!(response.status, 303, "{}", response.text());
    }

    /// The counts of one configuration: returned, shown, clicked, closed.
    pub fn counts(&self, configuration: u64) -> [u64; 4] {
        let counts = self.get("/admin/counts").json()["counts"][configuration.to_string()].clone();
        [1, 2, 3, 4].map(|kind: u64| counts[kind.to_string()].as_u64().unwrap_or(0))
    }

    /// Waits for these counts.
    pub fn wait_for_counts(&self, configuration: u64, expected: [u64; 4]) {
        let deadline = std::time::Instant::now() + PATIENCE / 2;
        until("the counts", || {
            let counts = self.counts(configuration);
            let late = std::time::Instant::now() > deadline;
            assert!(!late || counts == expected, "counts are {counts:?}, not {expected:?}");
            (counts == expected).then_some(())
        });
    }
}

fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}

/// Starts the service and waits until its tables exist.
pub fn start(server: Server) -> Running {
    tables(server.start())
}

/// Waits until the tables exist, which the first worker creates.
pub fn tables(weft: Running) -> Running {
    until("the tables", || {
        let mut client = weft.connect();
        (post(&mut client, "/v1/ask", &json!({"user": "first"})).status == 200).then_some(())
    });
    weft
}
