//! Figures by route: the requests of one script, or of one kind of path, are counted together.
//!
//! Must not know how figures are shown. Invariants: there are never more than [`ROUTES`] routes, however many paths clients
//! think of; nothing is counted, and no clock read, unless there is an address for the operator or a collector of traces.
//!
//! # Layout, in reading order
//! - `name`: what the route of a path is called; `names`: the table of names, in memory that all workers share; `figures`: what
//!   is counted of each; `book`: how a worker finds a request's route. The server counts, under the mark that it tells.

mod book;
mod figures;
mod name;
mod names;

pub use book::{FILES, Routes, routes};
pub use figures::{Figures, counters};
pub use names::{Names, ROUTES};
