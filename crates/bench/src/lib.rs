//! What bentpipe gains, measured: the demo's transfers and the benchmark's cases, in virtual time
//! and on real hosts, beside their limits.
#![forbid(unsafe_code)]

pub mod demo;
mod error;
mod files;
pub mod flows;
mod median;
mod player;
pub mod satellite;
pub mod simulator;

pub use error::BenchError;
pub use player::World;
