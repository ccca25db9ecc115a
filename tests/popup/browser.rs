//! The home page and the admin page in a real browser, over `https://localhost`.

use serde_json::json;
use weft_tests::browser::Browser;
use weft_tests::until;

use crate::service::{TOKEN, service, start};

#[test]
fn a_pop_up_from_its_making_to_its_click() {
    let server = service().with("--listen", "127.0.0.1:0").with("--listen", "https://localhost:0");
    let weft = start(server.with("--acme-storage", "storage"));
    let [_, tls] = weft.addresses()[..] else { panic!("two addresses: {}", weft.log()) };
    let site = format!("https://localhost:{}", tls.port());
    let browser = Browser::trusting(&weft.path("storage/local/authority.pem"));
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
    browser.click("tr[data-id='1'] a");
    browser.fill("[name=priority]", "7");
    browser.click("form button");
    browser.wait_for_text("tr[data-id='1'] td:nth-child(4)", "7");

    // The user's home page in another window; the list stays open and updates.
    let list = browser.call("GET", "/window", &json!({}));
    let window = browser.call("POST", "/window/new", &json!({"type": "window"}));
    browser.call("POST", "/window", &json!({"handle": window["handle"]}));
    browser.open(&site);
    until("the pop-up", || {
        // The configuration may not have reached this worker yet.
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
