//! `weft profile`: on which PHP functions the workers of a running server spend their processors, and where requests wait.
//!
//! Must not know how a worker is asked. Invariants: nothing is measured before somebody asks; a profile ends by itself, and takes a
//! bounded memory; PHP code is neither stopped nor signalled.
//!
//! # Layout, in reading order
//! - `folded`: stacks and how often each was seen; `session`: a worker takes a profile; `command`: the command; `flame`: the
//!   picture.

mod command;
mod flame;
mod folded;
mod session;

pub use command::{Arguments, run};
pub use folded::Folded;
pub use session::{Wanted, begin, deadline, open, taken, turn};
