//! The figures that an operator sees: rows that follow from two looks at a gateway.
//!
//! Rates are differences of counters. Between two looks at a flow its age has grown, and between
//! two looks at the totals the uptime has. Both are by the gateway's own clock, so that no delay of
//! an answer shows.

pub(crate) mod flows;
pub(crate) mod groups;
pub(crate) mod history;
pub(crate) mod link;
pub(crate) mod recent;
pub(crate) mod unsplit;

use super::look::{Look, Unsplit};
use flows::FlowRow;
use groups::{RemoteRow, SubscriberRow};
use history::Histories;
use link::LinkRow;
use unsplit::ReasonRow;

/// All rows, as of the last look.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) link: LinkRow,
    pub(crate) flows: Vec<FlowRow>,
    pub(crate) subscribers: Vec<SubscriberRow>,
    pub(crate) remotes: Vec<RemoteRow>,
    pub(crate) reasons: Vec<ReasonRow>,
    /// The last connections that were not split.
    pub(crate) unsplit: Vec<Unsplit>,
    pub(crate) histories: Histories,
}

impl Model {
    /// The first look: there are no rates yet. Each history keeps `samples` of them.
    pub(crate) fn new(look: Look, samples: usize) -> Model {
        let mut model = Model {
            link: LinkRow::default(),
            flows: Vec::new(),
            subscribers: Vec::new(),
            remotes: Vec::new(),
            reasons: Vec::new(),
            unsplit: Vec::new(),
            histories: Histories::new(samples),
        };
        model.take(look);
        model
    }

    /// Another look.
    pub(crate) fn take(&mut self, look: Look) {
        let Look { status, flows, unsplit } = look;
        // Another gateway: nothing of before is its own.
        let is_another = status.uptime_s < self.link.uptime_s;
        if is_another {
            self.flows.clear();
            self.histories.clear();
        }
        let is_first = is_another || self.link.uptime_s == 0.0;
        self.flows = flows::rows(flows, &self.flows, is_first);
        self.link = LinkRow::of(&status, (!is_first).then_some(&self.link), &self.flows);
        self.subscribers = groups::subscribers(&self.flows);
        self.remotes = groups::remotes(&self.flows, &status.remotes);
        self.reasons = unsplit::reasons(&status);
        if let Some(unsplit) = unsplit {
            self.unsplit = unsplit;
        }
        if !is_first {
            self.histories.sample(&self.flows);
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
