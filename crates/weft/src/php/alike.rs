//! What makes requests alike, so that the scheduler can tell from the last ones how long the next one will compute: the same
//! target, the same path, the same script.
//!
//! Must not know what becomes of it. Invariant: requests of different sites, scripts or methods are never alike.

use std::hash::{BuildHasher, RandomState};
use std::os::unix::ffi::OsStrExt;
use std::sync::LazyLock;

use weft_rt::{Job, SizeKeys};
use weft_serve::RequestView;

use super::job::request_of;
use super::server_host::ServerHost;

/// Random, so that no client can make its requests seem like others.
static HASHER: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The keys of a request, from the closest likeness to the widest; of any other job none.
pub fn size_keys(host: &ServerHost, job: Job) -> SizeKeys {
    let Some(key) = request_of(job) else { return SizeKeys::default() };
    let scripts = host.scripts.borrow();
    let script = scripts.get(&key.0).map(|script| (script.site, script.file.as_os_str().as_bytes()));
    let keys = |request: &RequestView<'_>| {
        let of = |part: &[u8]| HASHER.hash_one((script, request.method(), part)).max(1);
        [of(request.target()), of(request.path()), of(b"")]
    };
    host.server.with_request(key, keys).unwrap_or_default()
}
