//! Invalid and random requests: never a 500, always a JSON error that names the problem.

use serde_json::{Value, json};
use weft_tests::{Client, Response};

use crate::service::{Admin, ask_until_shown, post, report, service, start};

fn refused(response: &Response, status: u16, code: &str, field: Option<&str>) {
    let text = response.text();
    assert_eq!(response.status, status, "{text}");
    let error = &response.json()["error"];
    assert_eq!(error["code"], code, "{text}");
    assert_eq!(error["field"].as_str(), field, "{text}");
    assert!(error["message"].as_str().is_some_and(|message| message.len() > 3), "{text}");
}

#[test]
fn errors_are_explained() {
    let weft = start(service());
    let mut client = weft.connect();
    for body in ["", "{", "[]", "[1]", "7", "null", "\"a\"", "\u{feff}{}", "{\"user\":\"\\ud800\"}"] {
        client.post("/v1/ask", "application/json", body);
        refused(&client.read(), 400, "invalid_json", None);
    }
    let long = "u".repeat(65);
    for user in
        [json!(null), json!(7), json!(""), json!("a b"), json!("ä"), json!(["a"]), json!("a\n"), json!(long)]
    {
        refused(&post(&mut client, "/v1/ask", &json!({"user": user})), 422, "invalid_field", Some("user"));
    }
    for (field, value) in [
        ("platform", json!("iOS")),
        ("platform", json!({})),
        ("version", json!("5.x")),
        ("version", json!(5)),
    ] {
        let body = json!({"user": "ada", field: value});
        refused(&post(&mut client, "/v1/ask", &body), 422, "invalid_field", Some(field));
    }
    client.post("/v1/ask", "application/json", format!("{{\"user\":\"{}\"}}", "u".repeat(5_000)));
    refused(&client.read(), 413, "too_large", None);
    client.get("/v1/ask");
    let response = client.read();
    refused(&response, 405, "method_not_allowed", None);
    assert_eq!(response.header("allow"), Some("POST"));
    client.get("/nothing");
    refused(&client.read(), 404, "not_found", None);
}

#[test]
fn a_report_must_be_of_a_pop_up_that_was_given() {
    let weft = start(service());
    let admin = Admin::sign_in(&weft);
    admin.create("Only", &[]);
    let popup = ask_until_shown(&weft, "ada");
    let display = popup["display"].as_str().expect("a display").to_string();
    let mut client = weft.connect();
    let mut judge = |display: Value, operation: Value, field: &str| {
        let body = json!({"display": display, "operation": operation});
        refused(&post(&mut client, "/v1/operations", &body), 422, "invalid_field", Some(field));
    };
    for operation in [json!("returned"), json!(null), json!(1), json!(["shown"])] {
        judge(json!(display), operation, "operation");
    }
    for wrong in [json!("x"), json!(""), json!(format!("{display}\n")), json!([display]), json!(null)] {
        judge(wrong, json!("clicked"), "display");
    }
    for forged in [display.replace("~ada~", "~eve~"), display.replace("~1~", "~2~"), FORGED.to_string()] {
        let body = json!({"display": forged, "operation": "clicked"});
        refused(&post(&mut weft.connect(), "/v1/operations", &body), 404, "unknown_display", Some("display"));
    }
    assert_eq!(report(&mut weft.connect(), &popup, "clicked").status, 200);
}

/// Well-formed, but with an invalid signature.
const FORGED: &str = "th4q2s0a1b2c3d4ez1~1~ada~0123456789abcdef0123";

/// A deterministic pseudo-random generator (Steele and others, SplitMix64).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit as u64) as usize
    }

    fn text(&mut self) -> String {
        const PIECES: [&str; 16] = [
            "a",
            "Z",
            "9",
            ".",
            "'",
            "\"",
            "\\",
            "\t",
            "\u{0}",
            "ä",
            "🧵",
            "--",
            "{",
            "]",
            "%00",
            "9223372036854775808",
        ];
        (0..self.below(8)).map(|_| PIECES[self.below(PIECES.len())]).collect()
    }

    fn value(&mut self, depth: usize) -> Value {
        match self.below(if depth > 2 { 6 } else { 8 }) {
            0 => Value::Null,
            1 => json!(self.below(2) == 0),
            2 => json!(self.below(usize::MAX)),
            3 => json!(-(self.below(1_000) as i64)),
            4 => json!(self.below(1_000) as f64 / 7.0),
            5 => json!(self.text()),
            6 => (0..self.below(4)).map(|_| self.value(depth + 1)).collect(),
            _ => Value::Object((0..self.below(4)).map(|_| (self.text(), self.value(depth + 1))).collect()),
        }
    }

    /// A body: often the right fields with right values, sometimes wrong ones, sometimes not JSON at all.
    fn body(&mut self) -> Vec<u8> {
        if self.below(12) == 0 {
            return (0..self.below(60)).map(|_| self.below(256) as u8).collect();
        }
        let mut body = json!({
            "user": "ada", "platform": "ios", "version": "1.2", "operation": "shown", "display": FORGED
        });
        for field in ["user", "platform", "version", "operation", "display"] {
            match self.below(4) {
                0 => body[field] = self.value(0),
                1 => drop(body.as_object_mut().expect("made above").remove(field)),
                _ => {}
            }
        }
        body.to_string().into_bytes()
    }
}

fn judge(client: &mut Client, what: &str) {
    let response = client.read();
    let text = response.text();
    assert!(
        matches!(response.status, 200 | 400 | 404 | 405 | 413 | 422),
        "{what}: {} {text}",
        response.status
    );
    let json = response.json();
    let is_error = json["error"]["code"].is_string() && json["error"]["message"].is_string();
    assert_eq!(is_error, response.status != 200, "{what}: {text}");
}

#[test]
fn requests_at_random_never_break_it() {
    let mut weft = start(service());
    let mut dice = Dice(20_261_121);
    let mut client = weft.connect();
    for number in 0..3_000 {
        let target = ["/v1/ask", "/v1/operations"][dice.below(2)];
        let body = dice.body();
        client.post(target, "application/json", &body);
        judge(&mut client, &format!("request {number}, {target}, {:?}", String::from_utf8_lossy(&body)));
    }
    assert!(weft.is_alive() && !weft.log().contains("ERROR"), "{}", weft.log());
}
