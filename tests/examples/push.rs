//! The chat of examples/push in a real browser, with several tabs; on one host, and on two hosts with a network of their own.

use serde_json::json;
use weft_tests::browser::Browser;
use weft_tests::line::Line;
use weft_tests::network::Network;
use weft_tests::services::{Backplane, Kind};
use weft_tests::{Running, Server, process, until};

use crate::examples;
use rustix::process::Signal;

/// The chat, with an address for its operator.
fn chat() -> Server {
    let application = examples().join("push/app.php");
    let server = Server::new(&format!("return require '{}';", application.display()));
    let admin = address_of_operator(&server);
    // One that is killed while it writes to opcache's memory takes the others along.
    server.with("--workers", "2").with("--define", "opcache.enable=0").with("--listen", &admin)
}

fn address_of_operator(server: &Server) -> String {
    format!("admin+unix:{}", server.directory().join("admin.sock").display())
}

/// The classic page, which publishes to that server.
fn shop(chat: &Running) -> Server {
    let to = format!("admin+unix:{}", chat.path("admin.sock").display());
    Server::of(&examples().join("push/shop")).with_variable("WEFT_TOPICS_PUBLISH_TO", &to)
}

fn announce(chat: &Running, topic: &str, text: &str) {
    let said = chat.weft(&[
        "publish",
        topic,
        text,
        "--to",
        &format!("admin+unix:{}", chat.path("admin.sock").display()),
    ]);
    assert_eq!(said.code, Some(0), "{}", said.stderr);
}

/// A tab in which somebody has come in.
fn come_in(browser: &Browser, url: &str, name: &str) {
    browser.open(url);
    browser.fill("#name", name);
    browser.click("#entrance button");
    browser.wait_for_text("#state", &format!("Connected as {name}"));
}

fn say(browser: &Browser, text: &str) {
    browser.fill("#text", text);
    browser.click("#composer button");
}

/// Waits until the log of the tab shows exactly these: who, and what.
fn expect(browser: &Browser, expected: &[(&str, &str)]) {
    let script = "return [...document.querySelectorAll('#log li')].map(line =>
        [line.querySelector('b')?.textContent ?? '', line.querySelector('.text').textContent])";
    let mut seen = json!(null);
    let found = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        until("the messages", || {
            seen = browser.run(script);
            (seen == json!(expected)).then_some(())
        });
    }));
    assert!(found.is_ok(), "the tab shows {seen}, not {expected:?}");
}

#[test]
fn what_is_said_in_one_tab_appears_in_the_others() {
    const BOB: &str = "<b>Bob</b> & Co";
    const HOSTILE: &str =
        "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>";
    let server = chat();
    let weft = server.with("--listen", "127.0.0.1:0").start();
    let shop = shop(&weft).start();
    let site = format!("http://{}", weft.address);
    let browser = Browser::start();
    let ada = browser.tab();
    come_in(&browser, &site, "Ada");
    browser.wait_for_text("#present", "Ada");
    let dashboard = browser.new_tab();
    browser.open(&format!("{site}/dashboard"));
    browser.wait_for_text("[data-room=lobby] .present", "1");
    let bob = browser.new_tab();
    come_in(&browser, &site, BOB);
    browser.wait_for_text("#present", &format!("{BOB}Ada"));
    say(&browser, HOSTILE);
    say(&browser, "Grüße, 世界 🎈");

    let said = [(BOB, HOSTILE), (BOB, "Grüße, 世界 🎈")];
    expect(&browser, &said);
    browser.switch_to(&ada);
    expect(&browser, &said);
    browser.wait_for_text("#present", &format!("{BOB}Ada"));
    assert_eq!(
        browser.run(
            "return document.title + document.querySelectorAll('#log img, #log script, #log b b').length"
        ),
        "Chat0"
    );
    browser.switch_to(&dashboard);
    browser.wait_for_text("[data-room=lobby] .present", "2");
    browser.wait_for_text("[data-room=lobby] .messages", "2");

    // The classic page, in a tab of its own; and the operator.
    browser.switch_to(&ada);
    browser.click("[data-room=kitchen]");
    browser.wait_for_text("#present", "Ada");
    let order = browser.new_tab();
    browser.open(&format!("http://{}", shop.address));
    browser.fill("[name=table]", "7");
    browser.click("form button");
    browser.wait_for_text("[role=status]", "Ordered: Pancakes. The kitchen knows.");
    announce(&weft, "room:kitchen", "The kitchen <closes> at ten");
    browser.close_tab();
    browser.switch_to(&ada);
    expect(&browser, &[("Shop", "Table 7: Pancakes"), ("Announcement", "The kitchen <closes> at ten")]);
    assert_ne!(order, ada);

    // Who has gone is gone.
    browser.click("[data-room=lobby]");
    expect(&browser, &said);
    browser.wait_for_text("#present", &format!("{BOB}Ada"));
    browser.switch_to(&bob);
    browser.close_tab();
    browser.switch_to(&ada);
    browser.wait_for_text("#present", "Ada");
    browser.switch_to(&dashboard);
    browser.wait_for_text("[data-room=lobby] .present", "1");
    browser.wait_for_text("[data-room=kitchen] .present", "0");
    browser.wait_for_text("[data-room=kitchen] .messages", "2");
}

#[test]
fn who_comes_back_gets_what_was_missed() {
    let weft = chat().with("--listen", "127.0.0.1:0").with("--topics-history-max", "5").start();
    let line = Line::to(weft.address);
    let browser = Browser::start();
    come_in(&browser, &format!("http://{}", line.address), "Ada");
    browser.wait_for_text("#present", "Ada");
    // Nothing was said yet, and all the same nothing is missed.
    line.cut();
    browser.wait_for_text("#state", "Connecting again…");
    announce(&weft, "room:lobby", "one");
    say(&browser, "mine"); // said while there is no connection
    announce(&weft, "room:lobby", "two");
    line.mend();
    browser.wait_for_text("#state", "Connected as Ada");
    let mut said = vec![("Announcement", "one"), ("Announcement", "two"), ("Ada", "mine")];
    expect(&browser, &said);

    // A worker is killed: nothing is lost, nothing comes twice.
    for victim in weft.workers() {
        process::signal(victim, Signal::KILL);
        announce(&weft, "room:lobby", "three");
        said.push(("Announcement", "three"));
        expect(&browser, &said);
    }
    browser.wait_for_text("#present", "Ada");

    // The page is loaded again, after something was said.
    line.cut();
    browser.wait_for_text("#state", "Connecting again…");
    announce(&weft, "room:lobby", "four");
    line.mend();
    browser.call("POST", "/refresh", &json!({}));
    browser.wait_for_text("#state", "Connected as Ada");
    said.push(("Announcement", "four"));
    expect(&browser, &said);

    // Longer away than the history reaches back.
    line.cut();
    browser.wait_for_text("#state", "Connecting again…");
    (0..6).for_each(|_| announce(&weft, "room:lobby", "too much"));
    line.mend();
    said.push(("", "You were away for too long: messages are missing here."));
    expect(&browser, &said);
    say(&browser, "I am back");
    said.push(("Ada", "I am back"));
    expect(&browser, &said);
}

#[test]
fn what_the_chat_does_not_understand_it_refuses() {
    use weft_tests::websocket::Socket;
    let weft = chat().with("--listen", "127.0.0.1:0").start();
    // Before anybody was there.
    let mut socket = Socket::open(&weft, "/live");
    assert_eq!(socket.text(), r#"{"rooms":{"lobby":{},"kitchen":{},"workshop":{}}}"#);
    socket.send("x");
    assert_eq!(socket.close().0, 1008);
    for target in [
        "/chat",
        "/chat?name=",
        "/chat?name=%20",
        "/chat?name[]=a",
        &format!("/chat?name={}", "x".repeat(41)),
    ] {
        assert!(Socket::ask(&weft, target, "").head.starts_with("HTTP/1.1 403 "), "{target}");
    }
    assert_eq!(
        Socket::ask(&weft, "/chat?name=a", "Origin: https://evil.example\r\n").head.get(9..12),
        Some("403")
    );
    for message in
        ["", "x", "[]", "{\"say\":\"before entering\"}", "{\"enter\":\"cellar\"}", "{\"enter\":[]}"]
    {
        let mut socket = Socket::open(&weft, "/chat?name=a");
        socket.send(message);
        assert_eq!(socket.close().0, 1008, "{message}");
    }
    for text in ["\" \"".to_owned(), "7".to_owned(), json!("x".repeat(2001)).to_string()] {
        let mut socket = Socket::open(&weft, "/chat?name=a");
        socket.send("{\"enter\":\"lobby\"}");
        socket.send(&format!("{{\"say\":{text}}}"));
        let last = until("the end", || Some(socket.read()).filter(|frame| frame.0 == 0x88));
        assert_eq!(last.1[..2], 1008u16.to_be_bytes(), "{text}");
    }
    let shop = shop(&weft).start();
    for order in ["", "dish=Gold&table=1", "dish=Pancakes&table=0", "dish[]=Pancakes&table=1"] {
        let mut client = shop.connect();
        client.post("/", "application/x-www-form-urlencoded", order);
        let answer = client.read();
        assert!(answer.status == 422 && answer.text().contains("Choose a dish and a table"), "{order}");
    }
}

/// Two hosts, a browser with a tab at each.
fn two_hosts_are_one_chat(kind: Kind, test: &str) {
    let Some(network) = Network::own(test) else { return };
    let backplane = Backplane::start_at(kind, network.address(), Backplane::keeping(kind));
    let places = [network.host(1), network.host(2)];
    let start = |number: usize| {
        let mut weft = places[number].of(chat().with("--topics-backplane", &backplane.url())).start();
        weft.wait_for_log("topics are shared with other hosts");
        weft
    };
    let (one, mut two) = (start(0), start(1));
    let browser = Browser::start();
    let ada = browser.tab();
    come_in(&browser, &format!("http://{}", one.address), "Ada");
    let bob = browser.new_tab();
    come_in(&browser, &format!("http://{}", two.address), "Bob");
    browser.wait_for_text("#present", "AdaBob");
    say(&browser, "hello");
    browser.switch_to(&ada);
    browser.wait_for_text("#present", "AdaBob");
    let mut said = vec![("Bob", "hello")];
    expect(&browser, &said);
    say(&browser, "hello Bob");
    said.push(("Ada", "hello Bob"));
    browser.switch_to(&bob);
    expect(&browser, &said);
    let dashboard = browser.new_tab();
    browser.open(&format!("http://{}/dashboard", two.address));
    browser.wait_for_text("[data-room=lobby] .present", "2");

    // The second host loses its network, and gets it back.
    if places[1].cut() {
        two.wait_for_log("is not there");
        browser.switch_to(&ada);
        for text in ["first", "second"] {
            say(&browser, text);
            said.push(("Ada", text));
        }
        expect(&browser, &said);
        places[1].mend();
        two.wait_for_log("is there again");
        browser.switch_to(&bob);
        expect(&browser, &said);
    }

    // Ada's page at the other host knows nothing of this tab; the address is another one. But the room is the same.
    browser.switch_to(&bob);
    say(&browser, "good bye");
    said.push(("Bob", "good bye"));
    browser.switch_to(&ada);
    expect(&browser, &said);
    browser.switch_to(&bob);
    browser.close_tab();
    browser.switch_to(&ada);
    browser.wait_for_text("#present", "Ada");
    browser.switch_to(&dashboard);
    browser.wait_for_text("[data-room=lobby] .names", "Ada");
}

#[test]
fn two_hosts_joined_by_redis_are_one_chat() {
    two_hosts_are_one_chat(Kind::Redis, "push::two_hosts_joined_by_redis_are_one_chat");
}

#[test]
fn two_hosts_joined_by_nats_are_one_chat() {
    two_hosts_are_one_chat(Kind::Nats, "push::two_hosts_joined_by_nats_are_one_chat");
}
