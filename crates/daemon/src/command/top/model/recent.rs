//! The share that was retransmitted lately.

use serde::{Serialize, Serializer};

/// The weight of a byte halves in so many seconds.
const HALF_LIFE_S: f64 = 5.0;

/// Bytes delivered and bytes retransmitted, older ones with less weight.
///
/// A second of a slow flow has too few packets for a share. A share since a flow's beginning would
/// hide a link that has become worse.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Recent {
    delivered: f64,
    retransmitted: f64,
}

impl Recent {
    /// With what came in another `span_s` seconds.
    pub(crate) fn after(self, span_s: f64, delivered: u64, retransmitted: u64) -> Recent {
        let weight = (-span_s / HALF_LIFE_S).exp2();
        Recent {
            delivered: self.delivered * weight + delivered as f64,
            retransmitted: self.retransmitted * weight + retransmitted as f64,
        }
    }

    /// Both together.
    pub(crate) fn with(self, other: Recent) -> Recent {
        Recent {
            delivered: self.delivered + other.delivered,
            retransmitted: self.retransmitted + other.retransmitted,
        }
    }

    /// What was retransmitted, as a share of what was sent; None if hardly anything was.
    pub(crate) fn share(self) -> Option<f64> {
        let sent = self.delivered + self.retransmitted;
        (sent >= 1.0).then(|| self.retransmitted / sent)
    }
}

impl Serialize for Recent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.share().serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_bytes_count_less() {
        let lossy = Recent::default().after(1.0, 900, 100);
        assert_eq!(lossy.share(), Some(0.1));
        let half = lossy.after(HALF_LIFE_S, 500, 0);
        assert_eq!(half.share(), Some(0.05));
        assert_eq!(lossy.after(100.0, 0, 0).share(), None, "long ago");
        assert_eq!(Recent::default().after(1.0, 0, 1_500).share(), Some(1.0));
    }
}
