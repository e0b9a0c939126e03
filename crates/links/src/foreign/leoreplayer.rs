//! One-way delays of LeoReplayer, of LeoCC (SIGCOMM 2025).
//!
//! A line is the delay of 10 ms, in ms.

use super::{ForeignError, Rows, lines};
use bentpipe_core::time::Duration;

/// How long a line holds.
const STEP_MS: u64 = 10;
/// Three hours: no delay.
const MAX_MS: f64 = 1e7;

/// Reads LeoReplayer's delays.
///
/// # Errors
/// The line that is no time, or that there is none.
pub fn leoreplayer_delays(text: &str) -> Result<Rows, ForeignError> {
    let mut rows = Rows::default();
    let mut at = Duration::ZERO;
    for (number, line) in lines(text) {
        let delay = line.parse().ok().filter(|delay: &f64| (0.0..MAX_MS).contains(delay));
        let delay = delay
            .ok_or_else(|| ForeignError::in_line(number, format!("`{line}` is no delay in ms")))?;
        rows.delay.push(at, Duration::from_nanos((delay * 1e6).round() as u64), number)?;
        at += Duration::from_millis(STEP_MS);
    }
    if rows.is_empty() {
        return Err(ForeignError::whole("it is empty"));
    }
    rows.delay.period = Some(at);
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::foreign::tests::written;

    #[test]
    fn a_line_holds_for_ten_ms() {
        let rows = leoreplayer_delays("24\n18.5\n18.5\n30\n").unwrap();
        assert_eq!(written(&rows), "time_s,delay_ms\n0,24\n0.01,18.5\n0.03,30\n");
        assert_eq!(rows.delay.period, Some(Duration::from_millis(40)));
        assert_eq!(leoreplayer_delays("24\n-1\n").unwrap_err().line, Some(2));
        assert!(leoreplayer_delays("").is_err());
    }
}
