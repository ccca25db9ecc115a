//! The connection to PHP: starts the engine, checks applications, runs scripts, and answers PHP's questions to
//! the server.
//!
//! It joins weft-zend with weft-serve and must not know processes: those belong to the master.
//!
//! # Layout, in reading order
//! - `engine`: PHP is started; `support`: what is known of its version; `isolation`: of its extensions; `registers`: the JIT without them. `boot`: an application's life in a worker, with `boot_host`; `instances` and `stacks`: what it runs on.
//! - `serve`: requests become jobs, within `server_limits`; `job`: which are for requests. `answers`: what needs no PHP; `front`: who has a say before PHP, with `secure`: what TLS means for a request. `gate`: where they wait for their share. `marks`: which route they are counted with. `traced`: what is recorded of them; `timing`: what a response says of that. `server_host`: the answers to what PHP asks,
//!   with `facts` about a request `host_sites` about the script and the site that answer it (`site_choice`: which site that is; `site_settings`: what it sets), `websocket` and `connections` about connections, `topics` about what they subscribe to (`event_streams`: responses that do), `datagrams` about those without, `services` about TCP and UDP services (`lent`: what PHP borrows; `detached`: what it keeps), `delegation` of a response, and `forked` in a child that a request has forked.
//! - `script`: `weft php`.

mod answers;
mod boot;
mod boot_host;
mod connections;
mod datagrams;
mod delegation;
mod detached;
mod engine;
mod event_streams;
mod facts;
mod file_status;
mod forked;
mod front;
mod gate;
mod host_sites;
mod instances;
mod isolation;
mod job;
mod lent;
mod marks;
mod purpose;
mod registers;
#[cfg(target_arch = "x86_64")]
mod relaxed;
mod script;
mod secure;
mod serve;
mod server_host;
mod server_limits;
mod services;
mod site_choice;
mod site_settings;
mod stacks;
mod support;
mod timing;
mod topics;
mod traced;
mod websocket;

pub use boot::{
    boot, check_application, check_settings, end, end_tasks, start_tasks, try_application,
    warnings_of_application,
};
pub use engine::{EngineInfo, engine_examine, engine_start, ini, memory_is_broken, version, with_engine};
pub use gate::gate;
pub use isolation::Unisolated;
pub use job::request_of;
pub use purpose::of_connection as service_of_connection;
pub use script::{Terminal, main as cli_main};
pub use serve::{
    account_of, admit_waiting, become_forked, describe, is_request, pass_on, replacement_wanted, run_max,
    start as serve, takes_up, turn_all_away, turn_away,
};
pub use server_host::request_names;
pub use services::{datagram_service, stream_service};
pub use support::Support;
pub use traced::{begin as begin_records, finish as finish_traces};
