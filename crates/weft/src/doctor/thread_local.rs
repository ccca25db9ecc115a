//! Libraries that keep state for each thread: all coroutines of a worker run in one thread and share it, and so do PHP
//! instances unless the library belongs to them.
//!
//! Must not know how such a library is found. Invariant: a row says why a wait in the middle of what the state belongs to
//! does no harm; a library without a row has not been reviewed.

/// What is known of the state that an object keeps for each thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PerThread {
    /// Each PHP instance has its own.
    OfInstance,
    /// It is shared, for this reason.
    Shared(&'static str),
    /// Nobody has looked at it.
    Unreviewed,
}

/// The beginnings of files' names, and the reason.
const SHARED: &[(&str, &str)] = &[
    ("libabsl_base", "which thread this is, for its own locks"),
    ("libcom_err", "the text for an unknown error number, copied before a wait"),
    ("libgnutls", "a generator of random numbers"),
    ("libgomp", "the thread's place in a team, which is never left by a wait"),
    ("libjpeg", "what the processor can do"),
    ("libnuma", "whether an error ends the process"),
    ("libp11-kit", "the text of the last error, read before a wait"),
    ("librav1e", "the encoder's own pool of threads, in which no PHP runs"),
    ("libsodium", "a generator of random numbers"),
    ("libstdc++", "exceptions that are being handled: no handler waits"),
    ("libuuid", "the last time and a range of numbers: uuid_create() is one step"),
];

/// Libraries that belong to each PHP instance although they are no extensions, as `libraries.c` of weft-zend lists them.
const OF_INSTANCES: &[&str] = &["libxml2.so", "libxslt.so", "libexslt.so"];

/// The verdict on an object that keeps such state; `is_library`: it is neither libphp nor an extension, which belong to
/// each instance.
pub fn judge(name: &str, is_library: bool) -> PerThread {
    if !is_library || OF_INSTANCES.iter().any(|own| name.starts_with(own)) {
        return PerThread::OfInstance;
    }
    let row = SHARED.iter().find(|(beginning, _)| name.starts_with(beginning));
    row.map_or(PerThread::Unreviewed, |(_, why)| PerThread::Shared(why))
}
