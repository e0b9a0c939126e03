//! A range of seeds, as text.

use std::str::FromStr;

/// From the first one to before the last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Seeds {
    pub(super) first: u64,
    end: u64,
}

/// Why a text is not a range of seeds.
#[derive(Debug, thiserror::Error)]
pub(super) enum SeedsError {
    /// Not two numbers with dots between them.
    #[error("`{0}` is not a range of seeds (expected something like `0..1000`)")]
    Form(String),
    /// There is nothing between the two.
    #[error("there are no seeds in `{0}`")]
    Empty(String),
}

impl Seeds {
    pub(super) fn len(&self) -> u64 {
        self.end - self.first
    }
}

impl FromStr for Seeds {
    type Err = SeedsError;
    fn from_str(text: &str) -> Result<Seeds, SeedsError> {
        let number = |text: &str| text.trim().parse().ok();
        let (first, end) = text
            .split_once("..")
            .and_then(|(first, end)| number(first).zip(number(end)))
            .ok_or_else(|| SeedsError::Form(text.to_owned()))?;
        if first >= end {
            return Err(SeedsError::Empty(text.to_owned()));
        }
        Ok(Seeds { first, end })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_of_seeds_is_read() {
        assert_eq!("5..9".parse::<Seeds>().unwrap(), Seeds { first: 5, end: 9 });
        for (text, part) in [("5", "`0..1000`"), ("a..b", "`0..1000`"), ("9..9", "no seeds")] {
            let message = text.parse::<Seeds>().unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
