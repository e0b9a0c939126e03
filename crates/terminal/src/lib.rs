//! A command's terminal: log and messages, progress, tables, Ctrl-C.
#![forbid(unsafe_code)]

pub mod interrupt;
mod journal;
pub mod outputs;
#[cfg(feature = "progress")]
pub mod progress;
pub mod table;
