//! The papers' files, and what was asked of them.

mod catalogue;
mod requirements;
