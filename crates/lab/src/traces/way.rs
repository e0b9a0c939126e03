//! The two directions of a link to users, as LeoReplayer has them.

/// A direction, with the queue before it and the losses behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the user.
    Down,
    /// From the user.
    Up,
}

impl Way {
    /// The way that a trace's name says. `uplink`, or `up`, makes it one from the user.
    pub fn of_name(name: &str) -> Way {
        let mut words = name.split(|letter: char| !letter.is_ascii_alphabetic());
        let up = |word: &str| ["up", "uplink"].contains(&word.to_lowercase().as_str());
        if words.any(up) { Way::Up } else { Way::Down }
    }

    /// The one that is called so.
    pub fn of_word(word: &str) -> Option<Way> {
        [Way::Down, Way::Up].into_iter().find(|way| way.name() == word)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Way::Down => "down",
            Way::Up => "up",
        }
    }

    /// The queue's length.
    pub(super) fn queue(self) -> &'static str {
        match self {
            Way::Down => "50000packets",
            Way::Up => "500packets",
        }
    }

    /// The share of packets that are lost behind it.
    pub(super) fn loss(self) -> f64 {
        match self {
            Way::Down => 0.0001,
            Way::Up => 0.002,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_says_the_way() {
        assert_eq!(Way::of_name("q00_A_downlink_001"), Way::Down);
        assert_eq!(Way::of_name("starlink-up-3"), Way::Up);
        assert_eq!(Way::of_name("3.UPLINK"), Way::Up);
        assert_eq!(Way::of_name("supper"), Way::Down);
    }
}
