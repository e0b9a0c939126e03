//! Which numbers a claim allows.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;

/// The numbers that a claim allows. Written as `4 ± 0.1`, `4 ± 5 %`, `>= 0.95`, `< 3`, `1.2 .. 1.8`
/// or `= 7`.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Accepted {
    /// As it is written.
    text: String,
    /// The number that the paper has, or that its words come to.
    pub printed: Option<f64>,
    /// From here; less than that by nothing if `open`.
    pub min: f64,
    /// To here.
    pub max: f64,
    /// The ends do not belong to it: `<` and `>`.
    pub open: bool,
}

/// It is not written so.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no tolerance (such as `4 ± 0.1`, `4 ± 5 %`, `>= 0.95`, `< 3`, `1.2 .. 1.8`, `= 7`)"
)]
pub struct AcceptedError(String);

impl Accepted {
    /// Whether all numbers from `low` to `high` are accepted.
    pub fn has_all(&self, low: f64, high: f64) -> bool {
        if self.open {
            low > self.min && high < self.max
        } else {
            low >= self.min && high <= self.max
        }
    }

    /// True if it asks for a number of things: one or more, exactly or at least.
    pub fn is_count(&self) -> bool {
        self.min >= 1.0
            && self.min.fract() == 0.0
            && !self.open
            && (self.max == self.min || self.max.is_infinite())
    }

    /// Whether none of them is.
    pub fn has_none(&self, low: f64, high: f64) -> bool {
        if self.open {
            high <= self.min || low >= self.max
        } else {
            high < self.min || low > self.max
        }
    }
}

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl TryFrom<String> for Accepted {
    type Error = AcceptedError;

    fn try_from(written: String) -> Result<Accepted, AcceptedError> {
        written.parse()
    }
}

impl FromStr for Accepted {
    type Err = AcceptedError;

    fn from_str(written: &str) -> Result<Accepted, AcceptedError> {
        let wrong = || AcceptedError(written.to_owned());
        let number = |text: &str| {
            text.trim()
                .replace('_', "")
                .parse::<f64>()
                .ok()
                .filter(|n| n.is_finite())
                .ok_or_else(wrong)
        };
        let text = written.trim();
        let all =
            |printed, min, max, open| Accepted { text: text.to_owned(), printed, min, max, open };
        let (less, more) = (f64::NEG_INFINITY, f64::INFINITY);
        if let Some(rest) = text.strip_prefix(">=") {
            return Ok(all(None, number(rest)?, more, false));
        }
        if let Some(rest) = text.strip_prefix("<=") {
            return Ok(all(None, less, number(rest)?, false));
        }
        if let Some(rest) = text.strip_prefix('>') {
            return Ok(all(None, number(rest)?, more, true));
        }
        if let Some(rest) = text.strip_prefix('<') {
            return Ok(all(None, less, number(rest)?, true));
        }
        if let Some(rest) = text.strip_prefix('=') {
            let value = number(rest)?;
            return Ok(all(Some(value), value, value, false));
        }
        if let Some((low, high)) = text.split_once("..") {
            let (low, high) = (number(low)?, number(high)?);
            return if low <= high { Ok(all(None, low, high, false)) } else { Err(wrong()) };
        }
        let (value, by) = text.split_once('±').ok_or_else(wrong)?;
        let value = number(value)?;
        let by = match by.trim().strip_suffix('%') {
            Some(percent) => value.abs() * number(percent)? / 100.0,
            None => number(by)?,
        };
        if by < 0.0 { Err(wrong()) } else { Ok(all(Some(value), value - by, value + by, false)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn range(text: &str) -> (f64, f64) {
        let accepted: Accepted = text.parse().unwrap();
        (accepted.min, accepted.max)
    }

    #[test]
    fn every_form_is_understood() {
        assert_eq!(range("4 ± 0.5"), (3.5, 4.5));
        assert_eq!(range("-200 ± 10 %"), (-220.0, -180.0));
        assert_eq!(range("1.2 .. 1.8"), (1.2, 1.8));
        assert_eq!(range("= 7"), (7.0, 7.0));
        assert_eq!(range(">= 0.95"), (0.95, f64::INFINITY));
        assert_eq!(range("< 117_027"), (f64::NEG_INFINITY, 117_027.0));
        for wrong in ["", "4", "± 3", "4 ± -1", "2 .. 1", "about 5", ">= x", "= nan", "4 ± 5 % 6"]
        {
            assert!(wrong.parse::<Accepted>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_ends_belong_to_a_range_and_not_to_more_or_less() {
        let closed: Accepted = ">= 1".parse().unwrap();
        assert!(closed.has_all(1.0, 2.0) && !closed.has_none(1.0, 1.0));
        let open: Accepted = "> 1".parse().unwrap();
        assert!(!open.has_all(1.0, 2.0) && open.has_none(0.0, 1.0) && open.has_all(1.1, 9.0));
        let both: Accepted = "1 .. 2".parse().unwrap();
        assert!(!both.has_all(0.5, 1.5) && !both.has_none(0.5, 1.5) && both.has_none(2.1, 3.0));
    }
}
