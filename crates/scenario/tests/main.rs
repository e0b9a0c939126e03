//! Scenarios as files: what is read, swept, refused and documented.

mod chance;
mod changes;
mod copies;
mod errors;
mod examples;
mod figures;
mod foreign;
mod model;
mod reference;
mod simulated_gateway;
mod sweeps;
mod variants;
