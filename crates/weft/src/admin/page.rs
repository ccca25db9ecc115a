//! `GET /`: the live page, one HTML file that asks `/status` and `/requests` again and again, and draws what they say.
//!
//! Must not know any number that it shows. Invariants: there is no data in it, so whoever reaches the address may have it; it
//! loads nothing, runs no code but its own, and no other page can frame it.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use weft_serve::{RequestKey, RequestView, Server};

const FRAME: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/style.css");
/// One module: each file uses those before it.
const SCRIPT: &str = concat!(
    include_str!("page/sample.js"),
    include_str!("page/format.js"),
    include_str!("page/plot.js"),
    include_str!("page/table.js"),
    include_str!("page/live.js"),
);

/// The page and the header fields that go with it.
pub struct Page {
    body: String,
    tag: String,
    policy: String,
}

impl Page {
    pub fn new() -> Page {
        let body = FRAME.replace("/*style*/", STYLE).replace("/*script*/", SCRIPT);
        let hash = |text: &str| STANDARD.encode(digest(&SHA256, text.as_bytes()));
        // Inline code runs by its hash alone, whatever else might get into the document.
        let policy = format!(
            "default-src 'none'; script-src 'sha256-{}'; style-src 'sha256-{}'; connect-src 'self'; img-src data:; \
             base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
            hash(SCRIPT),
            hash(STYLE)
        );
        Page { tag: format!("\"{}\"", hash(&body)), body, policy }
    }

    /// Whether the client has it already.
    pub fn is_known_to(&self, request: &RequestView<'_>) -> bool {
        let known = request.header("if-none-match").unwrap_or_default();
        known.split(|byte| *byte == b',').any(|tag| {
            let tag = tag.trim_ascii();
            tag == b"*" || tag.strip_prefix(b"W/").unwrap_or(tag) == self.tag.as_bytes()
        })
    }

    /// Answers a request with it.
    pub fn send(&self, server: &Server, key: RequestKey, is_known: bool) {
        let headers: [(&[u8], &[u8]); 7] = [
            (b"Content-Type", b"text/html; charset=utf-8"),
            (b"Cache-Control", b"no-cache"),
            (b"ETag", self.tag.as_bytes()),
            (b"Content-Security-Policy", self.policy.as_bytes()),
            (b"X-Content-Type-Options", b"nosniff"),
            (b"Referrer-Policy", b"no-referrer"),
            (b"Cross-Origin-Opener-Policy", b"same-origin"),
        ];
        let (status, body) = if is_known { (304, &b""[..]) } else { (200, self.body.as_bytes()) };
        // Gone means that no client waits for it.
        let _ = server.respond(key, status, &headers, body);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_loads_nothing() {
        let Page { body, policy, .. } = Page::new();
        assert!(!body.contains("/*style*/") && !body.contains("/*script*/"), "a part is missing");
        let addresses = body.replace("http://www.w3.org/2000/svg", ""); // a name, which nobody loads
        assert!(!addresses.contains("http://") && !addresses.contains("https://"), "it names another place");
        assert!(!policy.contains("unsafe"), "{policy}");
        // What the policy would refuse, or what would take data for markup.
        for forbidden in
            ["style=", "onclick=", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
        {
            assert!(!body.contains(forbidden), "{forbidden}");
        }
        assert!(!SCRIPT.contains("</script") && !STYLE.contains("</style"));
    }
}
