//! What the chapter left open, where a table does not say it: divided acknowledgments.

use super::formulas::{slope, window};
use super::{Function, Numbers};
use crate::run::{Number, Ran};

pub(super) const FUNCTIONS: &[(&str, Function)] = &[("H-W-3", division)];

/// Segments in a round trip of 600 ms, if each segment is acknowledged in four parts.
fn division(ran: &Ran) -> Numbers {
    let of = |control: &str| {
        Ok::<_, String>(
            slope(&window(ran, "division", &[("flow.main.tcp.congestion", control)])?)? * 0.6,
        )
    };
    Ok(vec![
        Number::new("growth-by-packets", of("increase-by-k:k=1")?),
        Number::new("growth-by-bytes", of("standard")?),
    ])
}
