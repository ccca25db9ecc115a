//! What makes requests alike, so that the scheduler can tell from the last ones how long the next one will compute: the same
//! target, the same path, the same script.
//!
//! Must not know what becomes of it. Invariant: requests of different sites, scripts or methods are never alike.

use std::hash::{BuildHasher, Hasher};
use std::os::unix::ffi::OsStrExt;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use weft_rt::{Job, SizeKeys};
use weft_serve::RequestView;

use super::job::request_of;
use super::server_host::ServerHost;

/// Random, so that no client can make its requests seem like others.
static HASHERS: LazyLock<RandomState> = LazyLock::new(RandomState::default);

/// The keys of a request, from the closest likeness to the widest; of any other job none.
pub fn size_keys(host: &ServerHost, job: Job) -> SizeKeys {
    let Some(of) = request_of(job) else { return SizeKeys::default() };
    let scripts = host.scripts.borrow();
    let keys = |request: &RequestView<'_>| {
        let mut hasher = HASHERS.build_hasher();
        let script = scripts.get(&of.0);
        hasher.write_usize(script.map_or(0, |script| script.site));
        let mut key = |part: &[u8]| {
            hasher.write(part);
            hasher.finish().max(1)
        };
        key(request.method());
        let script = script.map_or(0, |script| key(script.file.as_os_str().as_bytes()));
        let path = key(request.path());
        [request.query().map_or(path, &mut key), path, script]
    };
    host.server.with_request(of, keys).unwrap_or_default()
}
