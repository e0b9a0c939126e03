//! The form and the English of the tree's comments and documents.
//!
//! CONTRIBUTING.md has the rules. Comments are wrapped at the width to which rustfmt holds the
//! code. Exceptions to the rules for sentences are counted for each crate and each document in
//! `ratchet.toml`; a test lets them fall only.

#![forbid(unsafe_code)]

pub mod claims;
pub mod ratchet;
pub mod tree;
pub mod wrap;

mod atoms;
mod comments;
mod findings;
mod heads;
mod markdown;
mod rules;
mod sentence;

pub use findings::{Finding, findings};
pub use rules::Rule;
