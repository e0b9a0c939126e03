//! A segment of the usual size.

/// Its payload in bytes.
pub(super) const SEGMENT: f64 = 1_448.0;
