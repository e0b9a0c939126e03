//! Impairments at work, for the simulator and for links on real packets: which packet is late, held
//! up, doubled or damaged. Each cause draws from a stream of its own, so that one more leaves the
//! others' numbers as they are.

use crate::impairment::Impairments;
use crate::random::Seeds;
use bentpipe_core::link::Order;
use bentpipe_core::time::Instant;
use bentpipe_core::units::Probability;
use rand::RngExt;
use rand_pcg::Pcg64Mcg;

/// Impairments at work.
#[derive(Debug)]
pub struct Impaired {
    what: Impairments,
    order: Order,
    jitter: Pcg64Mcg,
    reorder: Pcg64Mcg,
    hold_up: Pcg64Mcg,
    duplicate: Pcg64Mcg,
    corrupt: Pcg64Mcg,
    /// The latest arrival of a packet that keeps the order.
    last: Instant,
}

/// What becomes of a packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fate {
    /// When it arrives.
    pub(crate) at: Instant,
    /// It does so twice.
    pub(crate) twice: bool,
    /// The bit at this part of its length is turned over.
    pub(crate) flip: Option<f64>,
}

impl Impaired {
    /// Those of a direction whose random numbers are those of `name`; None if there are none.
    pub(crate) fn new(
        what: &Impairments,
        order: Order,
        seeds: Seeds,
        name: &str,
    ) -> Option<Impaired> {
        let rng = |cause: &str| seeds.rng(&format!("{name}/{cause}"));
        (*what != Impairments::NONE).then(|| Impaired {
            what: what.clone(),
            order,
            jitter: rng("jitter"),
            reorder: rng("reorder"),
            hold_up: rng("reorder-by"),
            duplicate: rng("duplicate"),
            corrupt: rng("corrupt"),
            last: Instant::ZERO,
        })
    }

    /// What becomes of the packet that would arrive at `at`. Packets are asked about in the order
    /// of their arrivals.
    pub(crate) fn fate(&mut self, at: Instant) -> Fate {
        let at = at + self.what.jitter.sample(&mut self.jitter);
        // Drawn whether it is held up or not: the next one's is the same in either case.
        let by = match self.what.reorder {
            Probability::ZERO => None,
            _ => Some(self.what.reorder_by.sample(&mut self.hold_up)),
        };
        let at = match by.filter(|_| below(&mut self.reorder, self.what.reorder).is_some()) {
            Some(by) => at + by,
            None if self.order == Order::Kept => {
                self.last = self.last.max(at);
                self.last
            }
            None => at,
        };
        let flip = below(&mut self.corrupt, self.what.corrupt);
        let twice = below(&mut self.duplicate, self.what.duplicate).is_some();
        Fate { at, twice, flip }
    }
}

/// Where below `probability` a uniform number lies, as a share of it; None above. Nothing is drawn
/// for what never happens.
fn below(rng: &mut Pcg64Mcg, probability: Probability) -> Option<f64> {
    let probability = probability.value();
    if probability == 0.0 {
        return None;
    }
    let drawn = rng.random::<f64>();
    (drawn < probability).then(|| drawn / probability)
}
