//! Loss recovery by name. A new algorithm is one file beside this one, one variant and one line in
//! each of the two tables here.

use super::{NewReno, Rack, Recovery, Sack};
use std::fmt;
use std::str::FromStr;

/// The loss recovery algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// NewReno without SACK (RFC 6582).
    NewReno,
    /// SACK (RFC 6675).
    Sack,
    /// RACK-TLP (RFC 8985).
    Rack,
}

/// There is no algorithm of this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no loss recovery is called `{0}` (there are {names})", names = Algorithm::names())]
pub struct UnknownAlgorithm(pub String);

impl Algorithm {
    /// Every algorithm and its name.
    pub const ALL: [(&'static str, Algorithm); 3] =
        [("newreno", Algorithm::NewReno), ("sack", Algorithm::Sack), ("rack", Algorithm::Rack)];

    /// A fresh instance.
    pub fn recovery(self) -> Box<dyn Recovery> {
        match self {
            Algorithm::NewReno => Box::new(NewReno::new()),
            Algorithm::Sack => Box::new(Sack::default()),
            Algorithm::Rack => Box::new(Rack::default()),
        }
    }

    /// Whether it works only where SACK was agreed on.
    pub fn needs_sack(self) -> bool {
        match self {
            Algorithm::NewReno => false,
            Algorithm::Sack | Algorithm::Rack => true,
        }
    }

    fn names() -> String {
        Self::ALL.map(|(name, _)| name).join(", ")
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Self::ALL.iter().find(|(_, algorithm)| algorithm == self).map(|(name, _)| *name);
        f.write_str(name.expect("every algorithm has a name"))
    }
}

impl FromStr for Algorithm {
    type Err = UnknownAlgorithm;
    fn from_str(text: &str) -> Result<Algorithm, UnknownAlgorithm> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, algorithm)| *algorithm).ok_or_else(|| UnknownAlgorithm(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written() {
        for (name, algorithm) in Algorithm::ALL {
            assert_eq!(name.parse(), Ok(algorithm));
            assert_eq!(algorithm.to_string(), name);
        }
        let message = "fast".parse::<Algorithm>().unwrap_err().to_string();
        assert!(message.contains("`fast`") && message.contains("newreno"), "{message}");
    }
}
