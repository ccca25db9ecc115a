//! What a worker measures for the operator beyond what it counts anyway.
//!
//! Must not know how it is shown. Invariant: without an address for the operator nothing of it is done.

use weft_rt::Runtime;

use crate::board::{Board, Page};
use crate::config::{Config, ListenAddress};
use crate::in_flight;
use crate::php;
use crate::profile;
use crate::routes::Routes;

/// Begins with it, before the first request.
pub fn begin(runtime: &'static Runtime, config: &Config, board: &'static Board, page: &'static Page) {
    if config.server.listen.iter().any(ListenAddress::is_admin) {
        Routes::open(&board.routes, &page.counted.routes, config.admin.routes.clone());
        runtime.keep_accounts(php::account_of);
        profile::open(runtime);
        in_flight::open(runtime, php::describe);
    }
}
