//! Forwarded connections, which have no flow.
//!
//! Some are split once they prove long, of some bytes are lost, and some are measured.
//!
//! Nothing here knows the table: it says what segments show, and the table acts.

mod candidates;
mod lost_bytes;
mod sampled;

pub(crate) use candidates::{Adopted, Candidates, Reading};
pub(crate) use lost_bytes::{Evidence, Gaps};
pub(crate) use sampled::Samples;
