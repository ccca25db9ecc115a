//! HTTP/1.1 from outside: every rule of the crate, through its public API, under every split of the input.

mod chunked;
mod head;
mod head_refused;
mod response;
mod splits;
