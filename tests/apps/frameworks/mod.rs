//! A Symfony and a Laravel application, both the same to their visitors.

mod browser;
mod journey;
mod octane;
mod site;
mod visitors;
