//! Families: a coroutine that the server has started, with all that it has spawned, and they: a request with its tasks.
//!
//! Descriptors and child processes belong to the whole process, as the kernel sees it; to weft they belong to a family. It must not
//! know what is done with that. Invariant: every live coroutine is of one family; a number is not used again before 2^31 others.

/// A family's number: 31 bits, and none of the two below.
pub type Family = u32;

/// Of what no family has.
pub const NOBODY: Family = 0;

/// Of what is there for every family.
pub const EVERYBODY: Family = 1;

/// The lowest number of a family.
pub const FIRST: Family = 2;

/// The bits of a number.
pub const BITS: Family = Family::MAX >> 1;
