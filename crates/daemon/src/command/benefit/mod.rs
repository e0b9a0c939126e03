//! `bentpipe gateway report`: what splitting gains, by size, subscriber and service.

mod json;
mod page;
mod text;

pub(super) use json::json;
pub(super) use page::page;
pub(super) use text::text;

use bentpipe_core::time::Duration;
use bentpipe_gateway::benefit::{
    ClassStats, Group, Histogram, Means, ServiceKey, ServiceStats, SizeClass, Transfers,
};
use std::cmp::Reverse;

/// The transfers, and for how long they have been taken down.
#[derive(Debug)]
pub(super) struct Benefit<'a> {
    pub(super) uptime: Duration,
    pub(super) transfers: &'a Transfers,
}

/// What the report says about itself, a line for each.
pub(super) const REMARKS: [&str; 3] = [
    "A transfer is a connection that has ended, from its SYN to the last acknowledgment of payload, without pauses of \
     more than 3 s. Means are geometric.",
    "The model is one TCP (CUBIC, ten segments first) over both legs' min round trips, with the losses of the \
     satellite leg and the rate of the link if that is known. It has no queue, no timeout and no slow host, so real \
     transfers take longer, mostly.",
    "The sample shares the link with transfers that are split, and profits from the short queue that these keep: \
     without the gateway it would take longer, too. In a pair both gateways need the same `sample`.",
];

impl Benefit<'_> {
    fn all(&self) -> ServiceStats {
        self.transfers.all()
    }

    /// The services, those with the most bytes first.
    fn services(&self) -> Vec<(&ServiceKey, &ServiceStats)> {
        let mut services: Vec<_> = self.transfers.services().collect();
        services.sort_by_key(|(key, stats)| (Reverse(stats.all_bytes()), **key));
        services
    }
}

/// How many times as long transfers would take unsplit: by the model, and by the sample.
struct Gains {
    model: Option<f64>,
    sample: Option<f64>,
}

impl Gains {
    /// Of a class. The sample's sizes differ from those that were split: what the model says for
    /// both makes up for that.
    fn of(class: &ClassStats) -> Gains {
        let (split, sample) = (class.split.means(), class.sample.means());
        let by_sample = |(split, sample): (Means, Means)| {
            let sizes = split.model / sample.model;
            sample.took * sizes / split.took
        };
        Gains {
            model: split.map(|split| split.model / split.took),
            sample: split.zip(sample).map(by_sample),
        }
    }

    /// Of all classes together, by the model.
    fn overall(stats: &ServiceStats) -> Option<f64> {
        let logs = stats.classes.iter().filter_map(|class| {
            let means = class.split.means()?;
            Some((class.split.count() as f64, (means.model / means.took).ln()))
        });
        let (count, sum) =
            logs.fold((0.0, 0.0), |(count, sum), (n, log)| (count + n, sum + n * log));
        (count > 0.0).then(|| (sum / count).exp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_gateway::{Config, Gateway};

    #[test]
    fn a_report_of_nothing_says_so() {
        let gateway: Gateway = Gateway::new(Config::default());
        let benefit = Benefit { uptime: Duration::from_secs(60), transfers: gateway.transfers() };
        assert_eq!(text(&benefit), "no transfer has ended yet (the gateway runs for 1min00s)\n");
        assert_eq!(json(&benefit)["services"], serde_json::json!([]));
        let page = page(&benefit);
        assert!(page.starts_with("<!doctype html>") && page.ends_with("</html>\n"), "{page}");
        assert!(!page.contains("http:") && !page.contains("https:"), "it is self-contained");
    }
}
