//! Forms and uploads: urlencoded and multipart (RFC 7578), in Request and in $_POST and $_FILES.

use serde_json::json;
use weft_tests::{Running, until};

use crate::server;

const BOUNDARY: &str = "multipart/form-data; boundary=XX";

fn part(name: &str, file: Option<(&str, &str)>, body: &str) -> String {
    let file_name = file.map(|(name, _)| format!("; filename=\"{name}\"")).unwrap_or_default();
    let kind = file.map(|(_, kind)| format!("Content-Type: {kind}\r\n")).unwrap_or_default();
    format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"{file_name}\r\n{kind}\r\n{body}\r\n")
}

fn post(weft: &Running, target: &str, parts: &[String]) -> serde_json::Value {
    let mut client = weft.connect();
    client.post(target, BOUNDARY, format!("{}--XX--\r\n", parts.concat()));
    client.read().json()
}

#[test]
fn an_urlencoded_form() {
    let weft = server().start();
    let mut client = weft.connect();
    client.post("/form", "application/x-www-form-urlencoded", "a=b+c%21&list[]=1&list[]=2&map[x]=y&empty=");
    let said = client.read().json();
    let fields = json!({"a": "b c!", "list": ["1", "2"], "map": {"x": "y"}, "empty": ""});
    assert_eq!(said["fields"], fields);
    assert_eq!(said["post"], fields);
    assert_eq!(said["a"], "b c!");
    assert_eq!(said["files"], json!([]));
}

#[test]
fn a_body_that_is_not_a_form_has_no_fields() {
    let weft = server().start();
    let mut client = weft.connect();
    client.post("/form", "application/json", "{\"a\":1}");
    let said = client.read().json();
    assert_eq!((&said["fields"], &said["a"]), (&json!([]), &json!("none")));
}

#[test]
fn a_multipart_form_with_fields_and_files() {
    let weft = server().start();
    let said = post(
        &weft,
        "/form",
        &[
            part("a", None, "text with\r\nlines"),
            part("f", Some(("one.txt", "text/plain")), "contents"),
            part("many[]", Some(("x.bin", "application/octet-stream")), "--XX is not a boundary here"),
            part("many[]", Some(("y.bin", "application/octet-stream")), ""),
            part("deep[k]", Some(("../../evil.txt", "text/plain")), "e"),
        ],
    );
    assert_eq!(said["fields"], json!({"a": "text with\r\nlines"}));
    assert_eq!(said["files"]["f"], json!(["one.txt", "text/plain", 8, 0, "contents"]));
    assert_eq!(
        said["files"]["many"][0],
        json!(["x.bin", "application/octet-stream", 27, 0, "--XX is not a boundary here"])
    );
    assert_eq!(said["files"]["many"][1], json!(["y.bin", "application/octet-stream", 0, 0, ""]));
    assert_eq!(said["files"]["deep"]["k"][0], "evil.txt", "a path in a file's name is not believed");
    assert_eq!(said["post"], said["fields"]);
    assert_eq!(said["uploaded"], json!(["f", "many", "deep"]));
}

#[test]
fn an_upload_can_be_kept_once_and_is_deleted_otherwise() {
    let weft = server().start();
    let said = post(&weft, "/moved", &[part("f", Some(("a", "text/plain")), "kept")]);
    assert_eq!(said[0], false);
    assert_eq!(said[1], "kept");
    assert_eq!(said[2], "\"a\" has been moved already");
    let app = "return fn ($r) => $r->files()['f']->path();";
    let weft = weft_tests::Server::new(app).start();
    let mut client = weft.connect();
    client.post("/", BOUNDARY, format!("{}--XX--\r\n", part("f", Some(("a", "text/plain")), "gone")));
    let path = client.read().text();
    assert!(path.starts_with('/'), "{path}");
    until("the upload to be deleted", || (!std::path::Path::new(&path).exists()).then_some(()));
}

#[test]
fn many_uploads_at_once_do_not_mix() {
    let weft = server().start();
    let mut clients: Vec<_> = (0..20).map(|_| weft.connect()).collect();
    for (n, client) in clients.iter_mut().enumerate() {
        let parts = [
            part("a", None, &format!("field {n}")),
            part("f", Some((&format!("{n}.txt"), "text/plain")), &"x".repeat(n * 1000)),
        ];
        let body = format!("{}--XX--\r\n", parts.concat());
        let head = format!(
            "POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: {BOUNDARY}\r\nContent-Length: {}\r\n\r\n",
            body.len()
        );
        client.send(head);
        // Each client sends the second half after all have sent the first.
        client.send(&body[..body.len() / 2]);
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let parts = [
            part("a", None, &format!("field {n}")),
            part("f", Some((&format!("{n}.txt"), "text/plain")), &"x".repeat(n * 1000)),
        ];
        let body = format!("{}--XX--\r\n", parts.concat());
        client.send(&body[body.len() / 2..]);
    }
    for (n, client) in clients.iter_mut().enumerate() {
        let said = client.read().json();
        assert_eq!(said["a"], format!("field {n}"));
        assert_eq!(said["files"]["f"][0], format!("{n}.txt"));
        assert_eq!(said["files"]["f"][2], n * 1000);
    }
}
