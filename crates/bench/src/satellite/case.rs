//! A case: what is run in each of its columns, its limit, and what is wanted of it.

use super::limit::Limit;
use super::target::Target;
use bentpipe_scenario::{Experiment, Point};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::Arc;

/// A column of the table: a variant of the case's scenario.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Deserialize,
    strum::EnumString,
    strum::IntoStaticStr,
)]
pub enum Column {
    /// The hosts alone, as Linux is: CUBIC.
    #[serde(rename = "end to end")]
    #[strum(serialize = "end to end")]
    EndToEnd,
    /// The hosts alone, with BBR.
    #[serde(rename = "end to end BBR")]
    #[strum(serialize = "end to end BBR")]
    EndToEndBbr,
    /// Gateways that are configured with rate and round trip.
    #[serde(rename = "known")]
    #[strum(serialize = "known")]
    Known,
    /// Gateways of which the one at the server is configured, and informs the other one.
    #[serde(rename = "server told")]
    #[strum(serialize = "server told")]
    ServerTold,
    /// The same of the one at the client.
    #[serde(rename = "client told")]
    #[strum(serialize = "client told")]
    ClientTold,
    /// Unconfigured gateways.
    #[serde(rename = "estimated")]
    #[strum(serialize = "estimated")]
    Estimated,
    /// A pair of PEPsal with BBR, where runs are live and its program is given.
    #[serde(rename = "pepsal")]
    #[strum(serialize = "pepsal")]
    Pepsal,
    /// The third party's flow, or requests, without the others. It has no column.
    #[serde(rename = "alone")]
    #[strum(serialize = "alone")]
    Alone,
}

/// How many of the seeds a case is run with, where chance has a part in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Seeds {
    /// All.
    #[default]
    All,
    /// A tenth: it takes long, or varies little.
    Tenth,
    /// A hundredth: it takes very long, and hardly varies.
    Hundredth,
}

impl Seeds {
    /// How many these are of `seeds`.
    pub(super) fn of(self, seeds: u64) -> u64 {
        match self {
            Seeds::All => seeds,
            Seeds::Tenth => seeds.div_ceil(10),
            Seeds::Hundredth => seeds.div_ceil(100),
        }
    }
}

/// A case of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its name, which no other one has.
    pub name: String,
    pub(super) seeds: Seeds,
    /// What an ideal sender takes; None where times say little.
    pub(crate) limit: Option<Limit>,
    pub(crate) experiment: Arc<Experiment>,
    /// Its columns, and the point of the experiment that each is.
    pub(crate) columns: BTreeMap<Column, usize>,
    /// The figures that are no times.
    pub(super) figures: Option<Figures>,
    /// Columns whose ratio of means is shown: the one with the gateway, and the one without.
    pub(super) ratio: Option<(Column, Column)>,
    pub(super) targets: Vec<Target>,
}

/// Figures of a case that are no times, and the column that they are of.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Figures {
    /// Goodput, as a share of what the link can carry.
    Goodput(Column),
    /// Of many flows that share the link: the same share, utilisation, Jain's index, drops and
    /// queueing.
    Sharing(Column),
    /// Of a third party's flow: its goodput, as a part of its share of the link, and queueing.
    ThirdParty(Column),
    /// Of requests and their replies next to other flows: how long the slow ones take.
    Replies(Column),
    /// What was retransmitted.
    Retransmitted(Column),
}

impl Figures {
    /// The column that they are of.
    pub(super) fn column(self) -> Column {
        match self {
            Figures::Goodput(column)
            | Figures::Sharing(column)
            | Figures::ThirdParty(column)
            | Figures::Replies(column)
            | Figures::Retransmitted(column) => column,
        }
    }

    /// Whether the columns' runs end when all is transferred, and so have a time each.
    pub(super) fn leave_times(self) -> bool {
        !matches!(self, Figures::ThirdParty(_) | Figures::Replies(_))
    }
}

impl Column {
    /// Its name in files of cases.
    pub(super) fn name(self) -> &'static str {
        self.into()
    }

    /// The foreign gateway that takes part, by its name in scenarios.
    pub(super) fn proxy(self) -> Option<&'static str> {
        match self {
            Column::Pepsal => Some("pepsal"),
            _ => None,
        }
    }
}

impl Case {
    /// What is run in a column, if it has that one.
    pub fn point(&self, column: Column) -> Option<Point> {
        self.columns.get(&column).map(|index| self.experiment.point(*index))
    }
}
