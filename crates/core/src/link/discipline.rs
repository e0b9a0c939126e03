//! Queueing disciplines by name. A new one is one file in this folder's parent and one entry here,
//! which gives it its variant, its name, its parameters and their text, and how its queue begins.

mod delegate;
mod registry;
mod values;

use super::{
    CoDel, Count, DropTail, FqCoDel, LinkPacket, Measure, Pie, Policer, Queue, QueueLimit, Red,
    Varying,
};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Probability, Rate};
use delegate::delegate;
use registry::disciplines;
use values::{
    GAIN, LENGTH, LIMIT, PACKETS, PROBABILITY, QUEUES, RATE, SWITCH, TIME, TIME_OR_ZERO, UPDATE,
    WEIGHT, one_of,
};

pub(super) use registry::LimitContext;
pub use registry::{DisciplineEntry, DisciplineParameter};

// An entry is: what it is, in a sentence, and what else is to be known; its name, its variant and
// the type of its parameters; where it is from; a text of one; whether two runs of it may differ;
// how its queue begins before a line of a rate, with a seed; its parameters (what it means, name,
// field, type, usual value, what it takes, and the usual value in words if it depends on
// another's). A parameter without a usual value must be given. All have a limit.
disciplines! {
    /// First in, first out; an arrival that does not fit is dropped.
    "drop-tail" => DropTail(QueueLimit) {
        example: "drop-tail:limit=60packets",
        parameters: DropTailConfig {
            /// How much it holds at most, the packet being sent included.
            "limit" limit: QueueLimit = QueueLimit::Unlimited, LIMIT;
        }
    }

    /// Random early detection, by average queue length in packets.
    "red" => Red(RedConfig) {
        source: "Floyd and Jacobson 1993",
        example: "red:limit=50packets,min-threshold=20,max-threshold=40",
        random: true,
        queue: |config, rate, seed| Red::new(config, rate, seed),
        // ns-2's of 1997.
        parameters: {
            /// How much it holds at most, the packet being sent included.
            "limit" limit: QueueLimit = QueueLimit::Packets(50), LIMIT;
            /// Below this average, in packets, nothing is dropped.
            "min-threshold" min_threshold: f64 = 5.0, PACKETS;
            /// From this average on, in packets, all is dropped; `gentle`: from twice this on.
            "max-threshold" max_threshold: f64 = 3.0 * min_threshold,
                PACKETS.above("min-threshold", min_threshold), "three times `min-threshold`";
            /// Weight of the newest length in the average.
            "weight" weight: f64 = 0.002, WEIGHT;
            /// Probability of a drop as the average reaches `max-threshold`.
            "max-p" max_p: Probability = Probability::new(0.1).unwrap_or_default(), PROBABILITY;
            /// Mean length of a packet: how fast the average falls while the line is idle, and what
            /// thresholds are multiples of if the average is in bytes.
            "mean-packet" mean_packet: Bytes = Bytes::new(500), LENGTH;
            /// Whether the probability rises in a line up to twice `max-threshold`.
            "gentle" gentle: bool = false, SWITCH;
            /// Whether arrivals pass after each drop: drops are evenly apart.
            "wait" wait: bool = true, SWITCH;
            /// In what the average is; thresholds stay in packets, of `mean-packet`.
            "average" average: Measure = Measure::Packets, one_of::<Measure>();
            /// In bytes, a packet's probability is proportional to its length.
            "drops" drops: Measure = Measure::Packets, one_of::<Measure>();
            /// Mark ECN-capable packets instead of dropping, below `max-threshold`.
            "ecn" ecn: bool = false, SWITCH;
        }
    }

    /// Controlled delay.
    "codel" => CoDel(CoDelConfig) {
        source: "RFC 8289",
        example: "codel:target=20ms,interval=600ms",
        random: false,
        queue: |config, _, _| CoDel::new(config),
        // Sections 4.4 and 4.3; the limit is Linux's.
        parameters: {
            /// How much it holds at most, the packet being sent included.
            "limit" limit: QueueLimit = QueueLimit::Packets(1000), LIMIT;
            /// Acceptable standing delay.
            "target" target: Duration = Duration::from_millis(5), TIME;
            /// For how long it may be exceeded: of the order of a round trip.
            "interval" interval: Duration = Duration::from_millis(100), TIME;
            /// Mark ECN-capable packets instead of dropping.
            "ecn" ecn: bool = false, SWITCH;
        }
    }

    /// A queue for each flow, served in turns by their bytes, with controlled delay in each.
    ///
    /// A packet's flow is a hash of its addresses, protocol and ports. When all queues together
    /// exceed the limit, the longest one is dropped from.
    "fq-codel" => FqCoDel(FqCoDelConfig) {
        source: "RFC 8290",
        example: "fq-codel:target=20ms,interval=600ms",
        random: false,
        queue: |config, _, seed| FqCoDel::new(config, seed),
        // Section 5.2.
        parameters: {
            /// How much all queues hold together at most, the packet being sent included.
            "limit" limit: QueueLimit = QueueLimit::Packets(10_240), LIMIT;
            /// How many queues there are.
            "flows" flows: u16 = 1024, QUEUES;
            /// How much a queue sends in its turn.
            "quantum" quantum: Bytes = Bytes::new(1514), LENGTH;
            /// Acceptable standing delay.
            "target" target: Duration = Duration::from_millis(5), TIME;
            /// For how long it may be exceeded: of the order of a round trip.
            "interval" interval: Duration = Duration::from_millis(100), TIME;
            /// Mark ECN-capable packets instead of dropping.
            "ecn" ecn: bool = true, SWITCH;
        }
    }

    /// The proportional integral controller enhanced.
    "pie" => Pie(PieConfig) {
        source: "RFC 8033",
        example: "pie:target=20ms",
        random: true,
        queue: |config, _, seed| Pie::new(config, seed),
        // Sections 4 and 5; the limit is Linux's.
        parameters: {
            /// How much it holds at most, the packet being sent included.
            "limit" limit: QueueLimit = QueueLimit::Packets(1000), LIMIT;
            /// The delay that the controller aims at.
            "target" target: Duration = Duration::from_millis(15), TIME;
            /// From one update of the probability to the next.
            "update" update: Duration = Duration::from_millis(15), UPDATE;
            /// How long a burst after a time without congestion passes.
            "burst" burst: Duration = Duration::from_millis(150), TIME_OR_ZERO;
            /// Gain of the distance from the target, in seconds.
            "alpha" alpha: f64 = 0.125, GAIN;
            /// Gain of the change of the delay, in seconds.
            "beta" beta: f64 = 1.25, GAIN;
            /// Mark ECN-capable packets instead of dropping, up to a probability of 10 %.
            "ecn" ecn: bool = false, SWITCH;
        }
    }

    /// A token bucket that drops what exceeds a rate and a burst.
    ///
    /// Nothing waits for it, as for `police` of Linux's tc. What passes waits for the line, whose
    /// rate should be higher, in a drop-tail queue.
    "policer" => Policer(PolicerConfig) {
        source: "RFC 2697 with one burst",
        example: "policer:rate=8Mbit/s,burst=30KB",
        random: false,
        queue: |config, _, _| Policer::new(config),
        parameters: {
            /// How fast the bucket fills; packets count with their headers.
            "rate" rate: Rate, RATE;
            /// How much the bucket holds; it begins full, and a packet longer than this never
            /// passes.
            "burst" burst: Bytes, LENGTH;
            /// How much the queue behind it holds at most, the packet being sent included.
            "limit" limit: QueueLimit = QueueLimit::Unlimited, LIMIT;
        }
    }
}

impl From<QueueLimit> for QueueKind {
    fn from(limit: QueueLimit) -> QueueKind {
        QueueKind::DropTail(limit)
    }
}

impl QueueKind {
    /// Each discipline and its parameters, in words.
    pub fn entries() -> Vec<DisciplineEntry> {
        use strum::VariantArray;
        QueueName::VARIANTS.iter().map(|name| name.entry()).collect()
    }
}

/// A queue of any kind. An enum and not a trait object: it is asked several times a packet.
///
/// Drop-tail is what most links have, and is small: it is what is inlined where packets pass. The
/// others are called, so that what runs for each packet stays in the processor's cache of
/// instructions.
#[derive(Debug)]
pub enum Discipline<P> {
    /// First in, first out; an arrival that does not fit is dropped.
    DropTail(DropTail<P>),
    /// One that does more.
    Active(Active<P>),
}

delegate!(Discipline, inline, DropTail Active);
