//! Topics of several hosts, joined by a backplane: real servers of Redis and NATS, and several weft beside each other.
//!
//! Each test is one function, run with both. Invariant: a message is counted, never sampled.

mod crowds;
mod hosts;
mod messages;
mod outages;
mod people;
mod settings;
mod tls;
