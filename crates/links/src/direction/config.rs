//! The parts of a direction, and their changes while it runs.

use crate::impaired::Impaired;
use crate::loss::Outages;
use crate::random::Seeds;
use crate::spec::DirectionSpec;
use bentpipe_core::link::{self, LinkConfig};
use bentpipe_core::time::{Duration, Instant};

/// The configuration of a [`Direction`](super::Direction).
#[derive(Debug)]
pub struct DirectionConfig {
    /// The link.
    pub link: LinkConfig,
    /// Jitter, reordering, duplicates and damage, if there are any.
    pub impaired: Option<Impaired>,
    /// Lost packets arrive, marked as damaged.
    pub tells_losses: bool,
}

impl From<LinkConfig> for DirectionConfig {
    /// A link without impairments.
    fn from(link: LinkConfig) -> DirectionConfig {
        DirectionConfig { link, impaired: None, tells_losses: false }
    }
}

/// A change of a [`Direction`](super::Direction) while it runs.
#[derive(Debug)]
pub struct DirectionChange {
    /// The configuration that it has from now on; only the parts below are taken.
    pub config: DirectionConfig,
    /// The rate.
    pub rate: bool,
    /// The delay.
    pub delay: bool,
    /// Losses, bit errors and outages.
    pub losses: bool,
    /// Jitter, reordering, duplicates and damage.
    pub impairments: bool,
}

impl DirectionSpec {
    /// Configures this direction for a run that lasts `duration`, out at the times `down` too. Its
    /// random numbers are those of `name`, such as `link.sat/forward`.
    pub fn config(
        &self,
        seeds: Seeds,
        name: &str,
        duration: Duration,
        down: Vec<(Duration, Duration)>,
    ) -> DirectionConfig {
        let impairments = &self.impairments;
        DirectionConfig {
            link: self.link(seeds, name, duration, down),
            impaired: Impaired::new(impairments, self.order, seeds, name),
            tells_losses: impairments.tells_losses,
        }
    }

    fn link(
        &self,
        seeds: Seeds,
        name: &str,
        duration: Duration,
        down: Vec<(Duration, Duration)>,
    ) -> LinkConfig {
        if let ([Outages::Periodic { first, lasting, every }], []) = (&self.outages[..], &down[..])
            && let Ok(outages) = link::Outages::periodic(*first, *lasting, *every)
        {
            // A link that has no end has no list of them.
            let alone = DirectionSpec { outages: Vec::new(), ..self.clone() };
            return LinkConfig { outages, ..alone.link(seeds, name, duration, down) };
        }
        let mut rng = seeds.rng(&format!("{name}/outages"));
        let mut direction = self.clone();
        direction.outages.push(Outages::Planned(down));
        let outages = direction.outage_spans(&mut rng, duration);
        let spans = outages.into_iter().map(|(begin, length)| {
            let begin = Instant::ZERO + begin;
            begin..begin + length
        });
        LinkConfig {
            rate: direction.rate,
            framing: direction.framing,
            delay: direction.delay,
            order: direction.order,
            queue: direction.queue,
            packet_loss: direction.loss,
            bit_errors: direction.bit_errors,
            outages: link::Outages::listed(spans.collect()).expect("spans are in order and apart"),
            seed: seeds.stream(&format!("{name}/loss")),
        }
    }
}
