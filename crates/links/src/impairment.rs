//! What befalls packets on a link besides losses: jitter, reordering, duplicates, damage.

use crate::distribution::RandomTime;
use bentpipe_config::reader::{Reader, Result, Section, field};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Probability;

/// Impairments of one direction of a link. Each draws from a stream of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct Impairments {
    /// By how much longer a packet's way is: drawn for each.
    pub jitter: RandomTime,
    /// The probability that a packet arrives twice.
    pub duplicate: Probability,
    /// The probability that a packet is held up, whatever the link's order is.
    pub reorder: Probability,
    /// For how long.
    pub reorder_by: RandomTime,
    /// The probability that one of a packet's bits is turned over. Checksums find it.
    pub corrupt: Probability,
    /// What the link loses reaches the receiver, damaged, so that it can tell the sender.
    pub tells_losses: bool,
}

impl Impairments {
    /// None.
    pub const NONE: Impairments = Impairments {
        jitter: RandomTime::ZERO,
        duplicate: Probability::ZERO,
        reorder: Probability::ZERO,
        reorder_by: RandomTime::ZERO,
        corrupt: Probability::ZERO,
        tells_losses: false,
    };
}

/// The keys of [`Impairments`].
pub const IMPAIRMENTS: Section = Section {
    path: "link.NAME (and its `back`), impairments",
    about: "What else befalls packets behind the line. Each has random numbers of its own, so that one more changes \
            nothing of the others. A damaged packet is discarded where its checksum is looked at, and counts as lost on the link.",
    fields: &[
        field(
            "jitter",
            "a random time",
            "0s",
            "added to the delay, for each packet anew; packets keep their order unless `order` is `by-arrival`",
        ),
        field("duplicate", "a probability", "0", "that a packet arrives twice"),
        field(
            "reorder",
            "a probability",
            "0",
            "that a packet is held up, so that others overtake it",
        ),
        field("reorder-by", "a random time", "", "for how long; needed with `reorder`"),
        field("corrupt", "a probability", "0", "that one of a packet's bits is turned over"),
        field(
            "loss-notification",
            "true or false",
            "false",
            "what this direction loses (`bit-errors`, `loss`, bursts, `corrupt`; not in outages) reaches the hosts as a damaged \
             packet with a header that is whole. The receiver's acknowledgments say so, and a sender whose recovery mends nothing else does \
             not reduce its window: explicit loss notification (Balakrishnan and Katz 1998; RFC 2760). TCP has no option for it: it goes \
             beside the headers, in the simulator alone, and gateways and middleboxes drop what is damaged",
        ),
    ],
    example: "jitter = { uniform = [\"0ms\", \"20ms\"] }\nreorder = \"1%\"\nreorder-by = \"30ms\"",
};

/// A word on what `medium` says.
pub(crate) const MEDIUM: Section = Section {
    path: "link.NAME, a shared medium",
    about: "Directions of links that name the same `medium` send one packet at a time over all of them, as a half-duplex Ethernet \
            does (CSMA/CD): who has a packet waits for the end of what is being sent; of several that begin at the same moment \
            none gets through, the medium is taken for a slot (64 bytes' time at the greatest rate), and each tries again after \
            a random number of slots, which doubles its range with each collision; a packet that has collided 16 times is \
            dropped. Stations hear each other at once: who begins later never collides. Both directions of a link with a \
            `medium` are a half-duplex cable. A bus of several stations is a router in the middle: what it passes on takes no time \
            (`back = { medium = \"none\", rate = \"unlimited\" }`), for the stations have heard it already.",
    fields: &[],
    example: "medium = \"wire\"\noverhead = \"38B\"\nmin-packet = \"46B\"",
};

impl Impairments {
    pub(crate) fn read(reader: &Reader<'_>) -> Result<Impairments> {
        let reorder = reader.or("reorder", Probability::ZERO)?;
        let reorder_by = match reorder {
            Probability::ZERO => reader.or("reorder-by", RandomTime::ZERO)?,
            _ => reader.need("reorder-by")?,
        };
        Ok(Impairments {
            jitter: reader.or("jitter", RandomTime::ZERO)?,
            duplicate: reader.or("duplicate", Probability::ZERO)?,
            reorder,
            reorder_by,
            corrupt: reader.or("corrupt", Probability::ZERO)?,
            tells_losses: reader.or("loss-notification", false)?,
        })
    }

    /// The longest way that jitter makes is without bound: what a queue is measured by is its mean.
    pub(crate) fn mean_jitter(&self) -> Duration {
        Duration::from_secs_f64(self.jitter.mean_seconds().clamp(0.0, 1e6))
    }
}
