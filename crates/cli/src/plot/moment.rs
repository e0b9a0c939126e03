//! Moments of a capture in options: since its first packet, or in UTC.

use bentpipe_capture::Moment;
use bentpipe_core::units::parse_duration;
use std::time::UNIX_EPOCH;

/// Reads `12.5s`, or `2026-11-28T07:31:11.5Z`.
pub(super) fn parse(text: &str) -> Result<Moment, String> {
    // A date has two hyphens, a duration none.
    if text.matches('-').count() == 2 {
        let at = humantime::parse_rfc3339_weak(text).map_err(|_| wrong())?;
        let nanos = at.duration_since(UNIX_EPOCH).map_err(|_| wrong())?.as_nanos();
        return i64::try_from(nanos).map(Moment::At).map_err(|_| wrong());
    }
    let since = parse_duration(text).map_err(|_| wrong())?;
    i64::try_from(since.as_nanos()).map(Moment::SinceFirst).map_err(|_| wrong())
}

fn wrong() -> String {
    "expected a time since the first packet, such as 12.5s, or one in UTC, such as 2026-11-28T07:31:11Z"
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_duration_or_a_date() {
        assert_eq!(parse("1.5s"), Ok(Moment::SinceFirst(1_500_000_000)));
        assert_eq!(parse("1970-01-01T00:00:01.5Z"), Ok(Moment::At(1_500_000_000)));
        assert_eq!(parse("1970-01-01 00:01:00"), Ok(Moment::At(60_000_000_000)));
        for text in ["12", "soon", "2026-13-01T00:00:00Z", "1960-01-01T00:00:00Z", ""] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
