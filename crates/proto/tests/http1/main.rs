//! HTTP/1.1 through the crate's public API: every rule, under every split of the input.

mod chunked;
mod head;
mod head_refused;
mod response;
mod splits;
