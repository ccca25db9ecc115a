//! Descriptors: the state kept for a number (`state`), opening (`open`, `fifo`) and closing (`close`).

pub mod close;
pub mod fifo;
pub mod open;
pub mod state;

pub use close::close_what_it_opened;
pub use state::{
    DescriptorKind, NUMBERS, Pace, drop_stale, end_if_cut_short, generation, goes_on, is_byte_stream, kind,
    pace, set_cut_short, set_pace, socket_timeout, stream, was_cut_short,
};
