//! A case: what is run in each of its columns, its limit, and what is wanted of it.

use super::limit::Limit;
use super::setup::Setup;
use super::target::Target;

/// A column of the table that is simulated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Column {
    /// The hosts alone, as Linux is: CUBIC.
    EndToEnd,
    /// The hosts alone, with BBR.
    EndToEndBbr,
    /// Gateways that have been told rate and round trip.
    Known,
    /// Gateways of which the one at the server has been told, and tells the other one.
    ServerTold,
    /// The same of the one at the client.
    ClientTold,
    /// Gateways with nothing configured.
    Estimated,
    /// The third party's flow without the others. It is not shown.
    Alone,
}

/// How many of the seeds a case is run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Seeds {
    /// All.
    All,
    /// A tenth: it takes long, or varies little.
    Tenth,
    /// A hundredth: it takes very long, and hardly varies.
    Hundredth,
    /// One: nothing in it is random.
    One,
}

impl Seeds {
    /// How many these are of `seeds`.
    pub(super) fn of(self, seeds: u64) -> u64 {
        match self {
            Seeds::All => seeds,
            Seeds::Tenth => seeds.div_ceil(10),
            Seeds::Hundredth => seeds.div_ceil(100),
            Seeds::One => 1,
        }
    }
}

/// A case of the table.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// What it is called, as no other one is.
    pub name: String,
    pub(super) seeds: Seeds,
    /// What an ideal sender takes; None where times say little.
    pub(super) limit: Option<Limit>,
    pub(super) columns: Vec<(Column, Setup)>,
    /// Which column the figures are taken from that are not times, and which figures.
    pub(super) figures: Option<(Column, Figures)>,
    /// Columns whose ratio of means is shown: the one with the gateway, and the one without.
    pub(super) ratio: Option<(Column, Column)>,
    pub(super) targets: Vec<Target>,
}

/// Figures of a case that are not times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Figures {
    /// Goodput, as a share of so many bit/s.
    Goodput(f64),
    /// Of many flows that share the link: the same share, utilisation, Jain's index, drops and
    /// queueing.
    Sharing(f64),
    /// Of a third party's flow: its goodput, as a share of so many bit/s, and queueing.
    Beside(f64),
    /// What was retransmitted.
    Retransmitted,
}

impl Case {
    /// A case that has nothing yet but its name and seeds.
    pub(super) fn new(name: impl Into<String>, seeds: Seeds) -> Case {
        Case {
            name: name.into(),
            seeds,
            limit: None,
            columns: Vec::new(),
            figures: None,
            ratio: None,
            targets: Vec::new(),
        }
    }

    /// With this limit.
    pub(super) fn limit(mut self, limit: Limit) -> Case {
        self.limit = Some(limit);
        self
    }

    /// With one more column.
    pub(super) fn column(mut self, column: Column, setup: Setup) -> Case {
        self.columns.push((column, setup));
        self
    }

    /// With these figures of `column`.
    pub(super) fn figures(mut self, column: Column, figures: Figures) -> Case {
        self.figures = Some((column, figures));
        self
    }

    /// With the ratio of the means of two columns.
    pub(super) fn ratio(mut self, with: Column, without: Column) -> Case {
        self.ratio = Some((with, without));
        self
    }

    /// With one more target.
    pub(super) fn target(mut self, target: Target) -> Case {
        self.targets.push(target);
        self
    }
}
