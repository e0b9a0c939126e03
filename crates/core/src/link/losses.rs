//! Everything by which a link loses packets that it has sent, together.

use super::{BurstLoss, GilbertElliott, LinkConfig, LossModel, Outages, RandomLoss};
use super::{Transmission, Varying};
use crate::units::Probability;

/// How packets are lost, apart from bit errors and outages. Its text form is a probability, or one
/// of `gilbert-elliott:burst=5,loss=1%`, `gilbert-elliott:p=0.2%,r=20%,h=0,k=1` and
/// `gilbert-elliott:good=10s,bad=200ms,h=0,k=1`, where *h* and *k* may be left out.
#[derive(Debug, Clone, PartialEq)]
pub enum LossKind {
    /// Each on its own, with a probability that may change over time.
    Independent(Varying<Probability>),
    /// In bursts.
    GilbertElliott(GilbertElliott),
}

impl LossKind {
    /// No loss.
    pub const NONE: LossKind = LossKind::Independent(Varying::Constant(Probability::ZERO));
}

impl From<Probability> for LossKind {
    fn from(probability: Probability) -> LossKind {
        LossKind::Independent(probability.into())
    }
}

/// The losses of a link at work: a packet arrives if all three let it.
#[derive(Debug, Clone)]
pub struct Losses {
    random: RandomLoss,
    bursts: Option<BurstLoss>,
    outages: Outages,
    /// None of them ever loses a packet: most links have no losses.
    never: bool,
}

impl Losses {
    /// The losses of `config`, drawing from its seed.
    pub fn new(config: &LinkConfig) -> Losses {
        let (independent, bursts) = match &config.packet_loss {
            LossKind::Independent(probability) => (probability.clone(), None),
            LossKind::GilbertElliott(channel) => {
                (Probability::ZERO.into(), Some(BurstLoss::new(*channel, config.seed)))
            }
        };
        let none = Varying::Constant(Probability::ZERO);
        Losses {
            never: config.packet_loss == LossKind::NONE
                && config.bit_errors == none
                && config.outages == Outages::NONE,
            random: RandomLoss::new(independent, config.bit_errors.clone(), config.seed),
            bursts,
            outages: config.outages.clone(),
        }
    }
}

impl LossModel for Losses {
    #[inline]
    fn loses(&mut self, sent: &Transmission) -> bool {
        if self.never {
            return false;
        }
        // Each is asked about every packet, whatever the others say: what one draws does not
        // depend on them.
        let random = self.random.loses(sent);
        let burst = self.bursts.as_mut().is_some_and(|bursts| bursts.loses(sent));
        random | burst | self.outages.hit(sent)
    }

    fn silences(&self, sent: &Transmission) -> bool {
        self.outages.hit(sent)
    }
}
