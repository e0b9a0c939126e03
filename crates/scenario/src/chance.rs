//! Whether chance has a part in a scenario. Where it has none, all runs are the same one.
//!
//! What is not known here does not compile: a new kind of link, middlebox or workload has to say
//! whether it draws random numbers.

use crate::flow::Flow;
use crate::link::Link;
use crate::middlebox::MiddleboxKind;
use crate::scenario::Scenario;
use crate::workload::{Arrivals, Workload};
use bentpipe_core::link::LossKind;
use bentpipe_core::units::Probability;
use bentpipe_links::{DirectionSpec, Distribution, Impairments, Outages, RandomSize, RandomTime};

impl Scenario {
    /// Whether two of its runs may differ.
    pub fn is_random(&self) -> bool {
        let links = self.links.iter().flat_map(Link::directions);
        links.into_iter().any(|(_, _, direction)| of_direction(direction))
            || self.middleboxes.iter().any(|middlebox| of_middlebox(&middlebox.kind))
            || self.flows.iter().any(of_flow)
    }
}

fn of_direction(direction: &DirectionSpec) -> bool {
    let DirectionSpec {
        rate: _,
        framing: _,
        // Who transmits when is drawn where two stations collide.
        medium,
        delay: _,
        queue,
        order: _,
        loss,
        bit_errors,
        outages,
        impairments,
    } = direction;
    let Impairments { jitter, duplicate, reorder, reorder_by, corrupt, tells_losses: _ } =
        impairments;
    let impaired = of_time(jitter)
        || [duplicate, corrupt].into_iter().any(|probability| *probability > Probability::ZERO)
        || (*reorder > Probability::ZERO && (*reorder < Probability::ONE || of_time(reorder_by)));
    let loss = match loss {
        LossKind::Independent(probability) => probability.greatest() > Probability::ZERO,
        LossKind::GilbertElliott(_) => true,
    };
    let outages = outages.iter().any(|outages| match outages {
        Outages::Planned(_) | Outages::Periodic { .. } => false,
        Outages::Random { every, lasting } => of_time(every) || of_time(lasting),
    });
    medium.is_some()
        || impaired
        || queue.is_random()
        || loss
        || outages
        || bit_errors.greatest() > Probability::ZERO
}

fn of_middlebox(kind: &MiddleboxKind) -> bool {
    match kind {
        MiddleboxKind::WebCache { hits, .. } => *hits > 0.0 && *hits < 1.0,
        MiddleboxKind::Liar { .. } => true,
        MiddleboxKind::AckSpacer { .. }
        | MiddleboxKind::AckFilter
        | MiddleboxKind::AckDecimator { .. }
        | MiddleboxKind::Snoop { .. }
        | MiddleboxKind::Spoof { .. } => false,
    }
}

fn of_flow(flow: &Flow) -> bool {
    of_time(&flow.start)
        || match &flow.workload {
            Workload::Bulk { bytes, .. } => bytes.as_ref().is_some_and(of_size),
            Workload::RequestResponse { request, reply, server_delay, think, .. } => {
                of_size(request) || of_size(reply) || of_time(server_delay) || of_time(think)
            }
            Workload::Http(http) => {
                of_size(&http.request) || of_time(&http.server_delay) || of_time(&http.think)
            }
            Workload::Http2(http) => {
                of_size(&http.request) || of_time(&http.server_delay) || of_time(&http.think)
            }
            Workload::Telnet { between, .. } => of_time(between),
            Workload::Udp { arrivals, .. } => match arrivals {
                Arrivals::Constant(_) => false,
                Arrivals::OnOff { on, off, .. } => of_time(on) || of_time(off),
                Arrivals::Poisson(_) => true,
            },
            Workload::Ping { .. } => false,
            Workload::Web { .. } | Workload::Poisson { .. } => true,
        }
}

fn of_time(time: &RandomTime) -> bool {
    !matches!(time.0, Distribution::Constant(_))
}

fn of_size(size: &RandomSize) -> bool {
    !matches!(size.distribution, Distribution::Constant(_))
}
