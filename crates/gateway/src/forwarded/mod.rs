//! Forwarded connections, which have no flow: those that are split once they prove long, and those
//! whose bytes are lost.
//!
//! Nothing here knows the table: it says what segments show, and the table acts.

mod candidates;
mod lost_bytes;

pub(crate) use candidates::{Adopted, Candidates, Reading};
pub(crate) use lost_bytes::{Evidence, Gaps};
