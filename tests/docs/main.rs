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
