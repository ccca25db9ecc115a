//! The layout of the repository: who may depend on whom, who may know what, how long a file may be.

mod borders;
mod files;
