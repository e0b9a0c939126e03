//! Fuzzing: bytes into the parser, hostile segments into connections.
//!
//! The targets are bolero's: `cargo test` plays the corpus (`__fuzz__/…/corpus` beside this file)
//! and then random inputs for a bounded time, with the stable toolchain. `cargo bolero test NAME`
//! runs the same targets under libFuzzer or AFL, which need a nightly one. A failure prints
//! `BOLERO_RANDOM_SEED`, which plays it again.

mod hostile;
mod parser;

use std::time::Duration;

/// How long `cargo test` spends on each target.
const BUDGET: Duration = Duration::from_secs(3);
