//! What a worker measures for the operator beyond what it counts anyway.
//!
//! Must not know how it is shown. Invariant: without an address for the operator, a collector of traces or a bound for slow
//! requests nothing of it is done.

use weft_rt::Runtime;

use crate::board::{Board, Page};
use crate::config::{Config, ListenAddress};
use crate::in_flight;
use crate::php;
use crate::profile;
use crate::routes::Routes;

/// Begins with it, before the first request.
///
/// # Errors
/// One line: why spans cannot be sent.
pub fn begin(
    runtime: &'static Runtime,
    config: &Config,
    (board, page, slot): (&'static Board, &'static Page, usize),
) -> Result<(), String> {
    let is_watched = config.server.listen.iter().any(ListenAddress::is_admin);
    if is_watched || config.trace.url.is_some() {
        Routes::open(&board.routes, &page.counted.routes, config.admin.routes.clone());
    }
    if is_watched {
        runtime.keep_accounts(php::account_of);
        profile::open(runtime);
        in_flight::open(runtime, php::describe);
    }
    php::begin_records(runtime, config, slot, (&page.counted.spans, &page.counted.exemplars))
}
