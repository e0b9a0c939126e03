//! How slow start lets the window grow, by name.

use super::text::{Parameters, UnknownControl};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the window grows in slow start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Growth {
    /// By what is acknowledged: doubled each round trip (RFC 5681).
    #[default]
    Doubling,
    /// So up to `max_ssthresh`, and beyond by about half of that each round trip (RFC 3742).
    Limited {
        /// In segments; RFC 3742 suggests 100.
        max_ssthresh: u32,
    },
    /// Doubled until round-trip times rise (HyStart++, RFC 9406).
    HyStart,
}

impl Growth {
    /// Each kind, with usual parameters.
    pub const ALL: [Growth; 3] =
        [Growth::Doubling, Growth::Limited { max_ssthresh: 100 }, Growth::HyStart];
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Growth::Doubling => f.write_str("standard"),
            Growth::Limited { max_ssthresh } => write!(f, "limited:max-ssthresh={max_ssthresh}"),
            Growth::HyStart => f.write_str("hystart"),
        }
    }
}

impl FromStr for Growth {
    type Err = UnknownControl;
    fn from_str(text: &str) -> Result<Growth, UnknownControl> {
        let mut parameters = Parameters::read(text);
        let growth = match parameters.name() {
            "standard" => Growth::Doubling,
            "limited" => Growth::Limited {
                max_ssthresh: parameters.take("max-ssthresh", 100, |segments| *segments > 0)?,
            },
            "hystart" => Growth::HyStart,
            _ => return Err(parameters.unknown("slow start", "standard, limited, hystart")),
        };
        parameters.finish(growth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for growth in Growth::ALL {
            assert_eq!(growth.to_string().parse(), Ok(growth));
        }
        assert_eq!("limited".parse(), Ok(Growth::Limited { max_ssthresh: 100 }));
        assert!("limited:max-ssthresh=0".parse::<Growth>().is_err());
        let message = "fast".parse::<Growth>().unwrap_err().to_string();
        assert!(message.contains("`fast`") && message.contains("hystart"), "{message}");
    }
}
