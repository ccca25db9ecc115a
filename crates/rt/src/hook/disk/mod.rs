//! Regular files: reading and writing (`file`), copying (`copy`), and the descriptors that a thread is using (`busy`).

pub mod busy;
pub mod copy;
pub mod file;

pub use copy::copy_file_range;
pub use file::{fdatasync, fsync, pread, pwrite, read, write};
