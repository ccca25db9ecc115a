//! Checks the documentation against the product: every name exists, every link leads somewhere, every example
//! runs.

mod commands;
mod cooperative;
mod examples;
mod figures;
mod globals;
mod instances;
mod isolation;
mod links;
mod markdown;
mod names;
mod nginx;
mod reference;
mod support;

/// Extensions that come with the applications of `make apps`, and that nobody has looked at.
const OF_APPLICATIONS: [&str; 3] = ["bcmath", "gmp", "snmp"];
