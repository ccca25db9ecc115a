//! A site's life from its installation on, step by step, under weft and under nginx with php-fpm, each with its own
//! site.

use serde_json::{Value, json};
use weft_tests::services::{Fpm, MariaDb, Upstream};
use weft_tests::{Response, Running, until};

use super::site::{SETTINGS, Site};
use weft_tests::compare::{Mask, same};
use weft_tests::visitor::{Visitor, between};

pub const PASSWORD: &str = "a long pass phrase";

/// What WordPress makes by chance, apart from its nonces.
pub const MASKS: &[Mask] = &[
    ("data-pw=\"", "\""),   // a suggested password
    ("weft-test-", "/"),    // each site has its own directory
    ("class=\"hh\">", "<"), // times
    ("class=\"mn\">", "<"),
    ("class=\"ss\">", "<"),
    ("data-secret=\\\"", "\\"), // of embedded pages
    ("?secret=", "\\"),
    ("<br />Automatic update ", "</span>"), // a time
    ("name=\"hh\" value=\"", "\""),
    ("name=\"hidden_hh\" value=\"", "\""),
    ("name=\"cur_hh\" value=\"", "\""),
    ("name=\"mn\" value=\"", "\""),
    ("name=\"ss\" value=\"", "\""),
    ("name=\"hidden_mn\" value=\"", "\""),
    ("name=\"cur_mn\" value=\"", "\""),
    ("mailto:", "</a>"), // obfuscated at random
];

/// One site under each of the two servers; each step is done on both and compared.
struct Twins {
    ours: Visitor,
    theirs: Visitor,
}

impl Twins {
    /// Does one step on both; returns weft's answer.
    fn step(&mut self, what: &str, work: impl Fn(&mut Visitor) -> Response) -> Response {
        let (ours, theirs) = (work(&mut self.ours), work(&mut self.theirs));
        same(what, &ours, &theirs, MASKS);
        ours
    }

    fn get(&mut self, target: &str) -> Response {
        self.step(&format!("GET {target}"), |visitor| visitor.get(target))
    }

    fn post(&mut self, target: &str, fields: &[(&str, &str)]) -> Response {
        self.step(&format!("POST {target}"), |visitor| visitor.post(target, fields))
    }

    fn json(&mut self, method: &str, target: &str, body: &Value) -> Response {
        self.step(&format!("{method} {target}"), |visitor| visitor.json(method, target, body))
    }
}

/// Installs a site.
pub fn install(visitor: &mut Visitor) -> Response {
    visitor.post(
        "/wp-admin/install.php?step=2",
        &[
            ("weblog_title", "A site & its <title>"),
            ("user_name", "boss"),
            ("admin_password", PASSWORD),
            ("admin_password2", PASSWORD),
            ("admin_email", "boss@site.test"),
            ("blog_public", "1"),
        ],
    )
}

pub fn log_in(visitor: &mut Visitor, name: &str) -> Response {
    visitor.get("/wp-login.php");
    let fields = [
        ("log", name),
        ("pwd", PASSWORD),
        ("wp-submit", "Log In"),
        ("redirect_to", "/wp-admin/"),
        ("testcookie", "1"),
    ];
    visitor.post("/wp-login.php", &fields)
}

/// The nonce for the REST API, from a page of the administration.
pub fn rest_nonce(visitor: &mut Visitor) -> String {
    between(&visitor.get("/wp-admin/post-new.php"), "createNonceMiddleware( \"", "\"")
}

fn installed_and_logged_in(twins: &mut Twins) {
    assert_eq!(twins.get("/").header("location"), Some("http://site.test/wp-admin/install.php"));
    twins.get("/wp-admin/install.php");
    let done = twins.step("install", install);
    assert!(done.text().contains("WordPress has been installed"), "{}", done.text());
    twins.get("/");
    twins.get("/wp-admin/");
    let wrong = twins.post("/wp-login.php", &[("log", "boss"), ("pwd", "wrong"), ("wp-submit", "Log In")]);
    assert!(wrong.text().contains("is incorrect"), "{}", wrong.text());
    assert_eq!(twins.step("log in", |visitor| log_in(visitor, "boss")).status, 302);
    for page in [
        "index",
        "edit",
        "upload",
        "edit-comments",
        "themes",
        "plugins",
        "users",
        "profile",
        "options-general",
    ] {
        assert_eq!(twins.get(&format!("/wp-admin/{page}.php")).status, 200, "{page}");
    }
}

/// Uploads a picture through the form, then posts it through the REST API, as the editor does. Returns the
/// post's number.
fn posted(twins: &mut Twins, image: &[u8]) -> u64 {
    let uploaded = twins.step("upload", |visitor| {
        let nonce = between(&visitor.get("/wp-admin/media-new.php"), "name=\"_wpnonce\" value=\"", "\"");
        let fields = [("_wpnonce", nonce.as_str()), ("html-upload", "Upload"), ("post_id", "0")];
        visitor.upload("/wp-admin/media-new.php", &fields, "async-upload", ("bild.png", image))
    });
    assert_eq!(uploaded.status, 302, "{}", uploaded.text());
    twins.step("the key to the API", |visitor| {
        let nonce = rest_nonce(visitor);
        visitor.set_header("X-WP-Nonce", &nonce);
        visitor.get("/index.php?rest_route=/wp/v2/users/me")
    });
    let media = twins.get("/index.php?rest_route=/wp/v2/media").json();
    let picture = &media[0];
    let sizes = picture["media_details"]["sizes"].as_object().expect("sizes");
    assert!(sizes.contains_key("thumbnail") && sizes.contains_key("medium_large"), "{picture}");
    for size in sizes.values() {
        let address = size["source_url"].as_str().expect("an address");
        let path = address.strip_prefix("http://site.test").expect("the site's own");
        assert_eq!(twins.get(path).header("content-type"), Some("image/png"));
    }
    let source = picture["source_url"].as_str().expect("an address");
    let content = format!(
        "<!-- wp:image --><figure><img src=\"{source}\" alt=\"\"/></figure><!-- /wp:image --><p>Grüße &amp; <b>more</b></p>"
    );
    let body = json!({"title": "A first post", "content": content, "status": "publish", "featured_media": picture["id"]});
    let made = twins.json("POST", "/index.php?rest_route=/wp/v2/posts", &body);
    assert_eq!(made.status, 201, "{}", made.text());
    made.json()["id"].as_u64().expect("a number")
}

fn commented(twins: &mut Twins, post: u64) {
    let number = post.to_string();
    let said = twins.step("comment", |visitor| {
        let mut stranger = visitor.stranger();
        let fields = [
            ("comment", "What a <b>post</b>"),
            ("author", "Ada"),
            ("email", "ada@site.test"),
            ("url", ""),
            ("comment_post_ID", number.as_str()),
            ("comment_parent", "0"),
        ];
        stranger.post("/wp-comments-post.php", &fields)
    });
    assert_eq!(said.status, 302, "{}", said.text());
    let held = twins.get("/index.php?rest_route=/wp/v2/comments&status=hold").json();
    let comment = held[0]["id"].as_u64().expect("a comment that waits");
    let target = format!("/index.php?rest_route=/wp/v2/comments/{comment}");
    let approved = twins.json("POST", &target, &json!({"status": "approved"}));
    assert_eq!(approved.json()["status"], "approved");
    let page = twins.get(&format!("/?p={post}"));
    assert!(page.text().contains("What a <b>post</b>"), "{}", page.text());
}

/// What readers see: pages, feeds and the REST API, with permalinks that only the front controller answers.
fn read(twins: &mut Twins) {
    twins.step("permalinks", |visitor| {
        let form = visitor.get("/wp-admin/options-permalink.php");
        let nonce = between(&form, "name=\"_wpnonce\" value=\"", "\"");
        visitor.post(
            "/wp-admin/options-permalink.php",
            &[
                ("_wpnonce", nonce.as_str()),
                ("permalink_structure", "/%postname%/"),
                ("submit", "Save Changes"),
            ],
        )
    });
    let mut readers = Twins { ours: twins.ours.stranger(), theirs: twins.theirs.stranger() };
    let pages = [
        "/",
        "/a-first-post/",
        "/a-first-post",
        "/category/uncategorized/",
        "/author/boss/",
        "/?s=first",
        "/2038/",
        "/not-there/",
        "/feed/",
        "/feed/atom/",
        "/comments/feed/",
        "/a-first-post/feed/",
        "/wp-json/",
        "/wp-json/wp/v2/posts?_embed",
        "/wp-json/wp/v2/users/me",
        "/wp-json/wp/v2/posts/999",
        "/wp-json/oembed/1.0/embed?url=http://site.test/a-first-post/",
        "/wp-sitemap.xml",
        "/wp-sitemap-posts-post-1.xml",
        "/robots.txt",
        "/wp-login.php?action=lostpassword",
        "/wp-admin/edit.php",
        "/wp-includes/css/dist/block-library/style.min.css",
        "/wp-includes/js/jquery/jquery.min.js",
        "/wp-content/themes/twentytwentythree/style.css",
        "/wp-content/uploads/none.png",
        "/xmlrpc.php",
    ];
    for page in pages {
        readers.get(page);
        readers.step(&format!("HEAD {page}"), |visitor| visitor.send("HEAD", page, "", b""));
    }
    let call = "<?xml version=\"1.0\"?><methodCall><methodName>system.listMethods</methodName></methodCall>";
    let methods =
        readers.step("XML-RPC", |visitor| visitor.send("POST", "/xmlrpc.php", "text/xml", call.as_bytes()));
    assert!(methods.text().contains("wp.getPosts"), "{}", methods.text());
}

/// Publishing a post defers some work, which is done when cron is requested.
fn scheduled(twins: &mut Twins, sites: [&Site; 2]) {
    let waiting = "SELECT COUNT(*) FROM wp_postmeta WHERE meta_key = '_encloseme'";
    sites.iter().for_each(|site| assert_ne!(site.asked(waiting), "0", "a post waits for cron"));
    let done = twins.get("/wp-cron.php");
    assert_eq!((done.status, done.text().as_str()), (200, ""));
    // cron releases its client before the work is done, and a page may just have started it as well.
    for (visitor, site) in [(&mut twins.ours, sites[0]), (&mut twins.theirs, sites[1])] {
        until("cron", || {
            visitor.get("/wp-cron.php");
            (site.asked(waiting) == "0").then_some(())
        });
    }
}

fn journey(extra: &[&str]) {
    let (database, upstream) = (MariaDb::start(), Upstream::start());
    let (ours, theirs) = (Site::new("ours", &database, &upstream), Site::new("theirs", &database, &upstream));
    let server = extra.iter().fold(ours.server("20"), |server, flag| server.with_flag(flag));
    let weft: Running = server.start();
    let fpm = Fpm::start(&theirs.docroot(), 4, &SETTINGS);
    let mut twins = Twins { ours: Visitor::of(weft.address), theirs: Visitor::of(fpm.address) };
    installed_and_logged_in(&mut twins);
    let image = std::fs::read(ours.image()).expect("the image");
    let post = posted(&mut twins, &image);
    commented(&mut twins, post);
    read(&mut twins);
    scheduled(&mut twins, [&ours, &theirs]);
    let out = twins.step("log out", |visitor| {
        let page = visitor.get("/wp-admin/profile.php");
        let nonce = between(&page, "action=logout&#038;_wpnonce=", "'");
        let nonce = &nonce[..10];
        visitor.get(&format!("/wp-login.php?action=logout&_wpnonce={nonce}"))
    });
    assert_eq!(out.status, 302);
    assert_eq!(twins.get("/wp-admin/").status, 302);
    assert!(!weft.log().contains("instances:"), "{}", weft.log());
}

#[test]
fn a_site_lives_as_it_does_under_php_fpm() {
    journey(&[]);
    if crate::all() {
        journey(&["--verify-instances", "--yield-at-calls"]);
        journey(&["--slice-ms=0.1"]);
    }
}
