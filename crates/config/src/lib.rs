//! TOML as a tree with positions, keys declared once, TCPs as texts, and `gateway.toml`.
//!
//! A [`document`] knows where each value stands. A [`reader`] takes typed values from its tables,
//! whose keys are declared with their documentation. What is wrong is one line that points at the
//! file, line and column: [`DocumentError`]. Nothing here knows a clock; files are read only
//! through a function of the caller.
#![forbid(unsafe_code)]

pub mod document;
mod error;
pub mod gateway;
pub mod reader;
mod tcp;

pub use error::{DocumentError, Problem, SourcePosition, hint};
pub use tcp::TcpLayer;
