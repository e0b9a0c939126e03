//! Moments of mahimahi's `mm-link`.
//!
//! Each line is a moment, in ms, at which one full-sized packet may leave; all begins again after
//! the last (mahimahi, `mm-link(1)`). As a rate: in the millisecond up to a moment, 12 Mbit/s for
//! each packet that may leave then. So full-sized packets that wait leave when they do there, and
//! what is not used is lost, as it is there. LeoReplayer's rates have the same form.

use super::{ForeignError, Rows, lines};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;

/// What one moment delivers: a packet of 1500 bytes.
const OPPORTUNITY_BITS: u64 = 1500 * 8;
/// Eleven days: later is no moment of a trace.
const MAX_MS: u64 = 1_000_000_000;

/// Reads moments as a rate that begins again after the last.
///
/// # Errors
/// The line that is no moment, or is before the one above it.
pub fn mahimahi(text: &str) -> Result<Rows, ForeignError> {
    let mut rows = Rows::default();
    // The millisecond that the last moments end, and how many they are.
    let mut open: Option<(u64, u64, usize)> = None;
    let (mut next, mut above) = (0, 0);
    let rate = |packets| Rate::from_bits_per_sec(packets * OPPORTUNITY_BITS * 1000);
    let mut close = |rows: &mut Rows, (slot, packets, line): (u64, u64, usize)| {
        let series = &mut rows.rate;
        let mut step = |at, value| match series.steps().last() {
            // Neighbours that are alike are one step.
            Some(last) if last.value == value => Ok(()),
            _ => series.push(Duration::from_millis(at), value, line),
        };
        if slot > next {
            step(next, rate(0))?;
        }
        next = slot + 1;
        step(slot, rate(packets))
    };
    for (number, line) in lines(text) {
        let moment = line.parse().ok().filter(|moment| *moment < MAX_MS);
        let moment: u64 = moment.ok_or_else(|| {
            ForeignError::in_line(number, format!("`{line}` is no moment in ms (a whole number)"))
        })?;
        if moment < above {
            let why = format!("the moment {moment} comes after {above}: moments must not fall");
            return Err(ForeignError::in_line(number, why));
        }
        above = moment;
        // The first moment has no millisecond before it.
        let slot = moment.max(1) - 1;
        open = match open {
            Some((last, packets, line)) if last == slot => Some((last, packets + 1, line)),
            other => {
                other.map(|slot| close(&mut rows, slot)).transpose()?;
                Some((slot, 1, number))
            }
        };
    }
    let last = open.ok_or_else(|| ForeignError::whole("it is empty"))?;
    close(&mut rows, last)?;
    rows.rate.period = Some(Duration::from_millis(next));
    rows.rate.rest = Some(rate(0));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::tests::written;

    #[test]
    fn moments_are_a_rate() {
        // Two packets in the first millisecond, one in the third.
        let rows = mahimahi("1\n1\n3\n").unwrap();
        assert_eq!(written(&rows), "time_s,rate_Mbit/s\n0,24\n0.001,0\n0.002,12\n");
        assert_eq!(rows.rate.period, Some(Duration::from_millis(3)));
        // The line stands still up to the first moment.
        assert_eq!(written(&mahimahi("3\n").unwrap()), "time_s,rate_Mbit/s\n0,0\n0.002,12\n");
    }

    #[test]
    fn a_line_that_is_none_is_named() {
        let error = mahimahi("3\n\n1\n").unwrap_err();
        assert_eq!(error.to_string(), "line 3: the moment 1 comes after 3: moments must not fall");
        let error = mahimahi("1\nx\n").unwrap_err();
        assert_eq!(error.to_string(), "line 2: `x` is no moment in ms (a whole number)");
        assert_eq!(mahimahi("\n").unwrap_err().why, "it is empty");
    }
}
