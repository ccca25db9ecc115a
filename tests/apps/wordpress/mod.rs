//! WordPress on MariaDB.

mod browser;
mod journey;
mod site;
mod visitors;
