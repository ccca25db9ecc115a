//! The media type of a file, by the extension of its name.
//!
//! It must not know a file's content. Invariant: an extension that nginx's `mime.types` has gets the type that it has
//! there, so that a site which moves here is answered as before; all others get what `mime_guess` says.

use std::path::Path;

/// Where nginx 1.22 to 1.26 (conf/mime.types) and `mime_guess` differ.
const AS_NGINX: [(&str, &str); 19] = [
    ("bmp", "image/x-ms-bmp"),
    ("dll", "application/octet-stream"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("js", "application/javascript"),
    ("m3u8", "application/vnd.apple.mpegurl"),
    ("m4a", "audio/x-m4a"),
    ("mid", "audio/midi"),
    ("midi", "audio/midi"),
    ("pdb", "application/x-pilot"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("prc", "application/x-pilot"),
    ("ra", "audio/x-realaudio"),
    ("rpm", "application/x-redhat-package-manager"),
    ("sea", "application/x-sea"),
    ("ts", "video/mp2t"),
    ("woff", "font/woff"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("xsl", "application/xslt+xml"),
    ("xslt", "application/xslt+xml"),
];

/// The type of a file of this name.
pub fn media_type(path: &Path) -> &'static str {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let listed = AS_NGINX.iter().find(|(known, _)| extension.eq_ignore_ascii_case(known));
    match listed {
        Some((_, kind)) => kind,
        None => mime_guess::from_path(path).first_raw().unwrap_or("application/octet-stream"),
    }
}

/// Types that compress well: text, and formats written as text.
pub(crate) fn is_text(kind: &[u8]) -> bool {
    const OTHERS: [&[u8]; 9] = [
        b"application/javascript",
        b"application/json",
        b"application/xml",
        b"application/wasm",
        b"application/manifest+json",
        b"application/vnd.ms-fontobject",
        b"font/ttf",
        b"font/otf",
        b"image/x-ms-bmp",
    ];
    let kind = kind.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.starts_with(b"text/")
        || kind.ends_with(b"+xml")
        || kind.ends_with(b"+json")
        || OTHERS.contains(&kind)
}
