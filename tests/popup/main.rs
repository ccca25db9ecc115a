//! The pop-up service of `examples/popup`: its rules, its interface, its admin page, its backends, and the faults it
//! survives.

mod admin;
mod asking;
mod backends;
mod browser;
mod faults;
mod few;
mod inputs;
mod load;
mod queue;
mod restartable;
mod service;
mod tables;
mod units;
