//! What a command shows and how it is stopped: log and messages, progress, tables, Ctrl-C.
#![forbid(unsafe_code)]

pub mod interrupt;
pub mod outputs;
#[cfg(feature = "progress")]
pub mod progress;
pub mod table;
