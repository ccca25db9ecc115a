//! What the soak requests in each mode: the routes of app.php and of page.php, with their weights.
//!
//! Must not know how requests are sent.

/// A path, how often it is requested, and what must come back.
pub type Route = (&'static str, u64, Expected);

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    /// 200 and the token.
    Token,
    /// 500.
    Failure,
    /// No answer: the client leaves first.
    Left,
}

pub const COROUTINE: &[Route] = &[
    ("/sleep", 20, Expected::Token),
    ("/mysql", 20, Expected::Token),
    ("/redis", 20, Expected::Token),
    ("/upstream", 20, Expected::Token),
    ("/file", 5, Expected::Token),
    ("/globals", 20, Expected::Token),
    ("/scope", 10, Expected::Token),
    ("/channel", 10, Expected::Token),
    ("/timeout", 2, Expected::Token),
    ("/cancel", 10, Expected::Token),
    ("/compute", 5, Expected::Token),
    ("/compute-in-c", 2, Expected::Token),
    ("/throw", 5, Expected::Failure),
    ("/exit", 10, Expected::Token),
    ("/recurse", 1, Expected::Failure),
    ("/stream", 10, Expected::Token),
    ("/exec", 2, Expected::Token),
    ("/sleep", 5, Expected::Left),
];

pub const CLASSIC: &[Route] = &[
    ("/sleep", 20, Expected::Token),
    ("/mysql", 20, Expected::Token),
    ("/redis", 20, Expected::Token),
    ("/upstream", 20, Expected::Token),
    ("/file", 5, Expected::Token),
    ("/globals", 20, Expected::Token),
    ("/session", 10, Expected::Token),
    ("/compute", 20, Expected::Token),
    ("/compute-in-c", 5, Expected::Token),
    ("/called-back", 20, Expected::Token),
    ("/generators", 20, Expected::Token),
    ("/destructors", 20, Expected::Token),
    ("/throw", 5, Expected::Failure),
    ("/exit", 10, Expected::Token),
    ("/recurse", 1, Expected::Failure),
    ("/stream", 10, Expected::Token),
    ("/exec", 2, Expected::Token),
    ("/fatal", 2, Expected::Failure),
    ("/compute", 5, Expected::Left),
    ("/sleep", 5, Expected::Left),
];
