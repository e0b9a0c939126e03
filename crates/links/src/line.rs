//! A direction of a link as the core has it: for the simulator, and for links on real packets.

use crate::direction::Direction;
use crate::loss::Outages;
use crate::random::Seeds;
use bentpipe_core::link::{self, LinkConfig};
use bentpipe_core::time::{Duration, Instant};

impl Direction {
    /// The configuration of this direction in a run that lasts `duration`, out at the times `down`
    /// too. Its random numbers are those of `name`, such as `link.sat/forward`.
    ///
    /// # Panics
    /// Never: outages are merged before they are listed.
    pub fn config(
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
            let alone = Direction { outages: Vec::new(), ..self.clone() };
            return LinkConfig { outages, ..alone.config(seeds, name, duration, down) };
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
