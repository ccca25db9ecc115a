//! Family numbers. A family is a coroutine that the server started, together with every coroutine it spawned, directly
//! or indirectly: a request with its tasks.
//!
//! To the kernel, descriptors and child processes belong to the process; weft assigns them to a family. This file must
//! not know what that is used for. Invariants: every live coroutine belongs to one family; a number is reused only after
//! 2^31 others.

/// A family's number: 31 bits, and neither of the two below.
pub type Family = u32;

/// The owner of things that belong to no family.
pub const NOBODY: Family = 0;

/// The owner of things that belong to every family.
pub const EVERYBODY: Family = 1;

/// The lowest number of a family.
pub const FIRST: Family = 2;

/// The bits of a number.
pub const BITS: Family = Family::MAX >> 1;
