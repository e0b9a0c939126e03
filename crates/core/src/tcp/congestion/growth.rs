//! How slow start lets the window grow, by name.

use crate::text::{Choice, Parameters, TextError};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the window grows in slow start.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, strum::EnumDiscriminants,
)]
#[strum_discriminants(
    vis(pub(super)),
    name(Name),
    derive(strum::VariantArray, strum::IntoStaticStr),
    strum(serialize_all = "lowercase")
)]
pub enum Growth {
    /// By what is acknowledged: doubled each round trip (RFC 5681).
    #[default]
    #[strum_discriminants(strum(serialize = "standard"))]
    Doubling,
    /// So up to `max_ssthresh`, and beyond by about half of that each round trip (RFC 3742).
    Limited {
        /// In segments; RFC 3742 suggests 100.
        max_ssthresh: u32,
    },
    /// Doubled until round-trip times rise (HyStart++, RFC 9406).
    HyStart,
    /// Doubled until what was sent no longer arrives (SEARCH, draft-chung-ccwg-search).
    Search,
}

impl Growth {
    /// Each kind, with usual parameters.
    pub const ALL: [Growth; 4] =
        [Growth::Doubling, Growth::Limited { max_ssthresh: 100 }, Growth::HyStart, Growth::Search];
}

impl fmt::Display for Growth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Name::from(self).name())?;
        match self {
            Growth::Limited { max_ssthresh } => write!(f, ":max-ssthresh={max_ssthresh}"),
            Growth::Doubling | Growth::HyStart | Growth::Search => Ok(()),
        }
    }
}

impl FromStr for Growth {
    type Err = TextError;
    fn from_str(text: &str) -> Result<Growth, TextError> {
        let mut given = Parameters::read(text);
        let segments = |text: &str| text.parse().ok().filter(|segments| *segments > 0);
        let growth = match given.kind::<Name>("slow start")? {
            Name::Doubling => Growth::Doubling,
            Name::Limited => Growth::Limited {
                max_ssthresh: given
                    .take("max-ssthresh", "a number of segments", segments)?
                    .unwrap_or(100),
            },
            Name::HyStart => Growth::HyStart,
            Name::Search => Growth::Search,
        };
        given.finish(growth)
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
        assert!(message.contains("`fast`") && message.contains("hystart, search"), "{message}");
    }
}
