//! The same application in Symfony and in Laravel; visitors cannot tell them apart.

mod browser;
mod journey;
mod octane;
mod site;
mod visitors;
