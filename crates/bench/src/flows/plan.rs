//! The measurements that are asked for.

use super::forwarder::Forwarder;
use bentpipe_core::units::Rate;
use std::time::Duration;

/// The way of the data, seen from the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Direction {
    /// From the server.
    Down,
    /// To the server.
    Up,
    /// Both at once, on each connection.
    Both,
}

/// A run of the benchmark.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The programs that are compared; the first one is the measure.
    pub forwarders: Vec<Forwarder>,
    /// The numbers of flows.
    pub flows: Vec<usize>,
    /// Rates of all flows together; None is full speed.
    pub rates: Vec<Option<Rate>>,
    /// The bytes of a write where a rate is given.
    ///
    /// None: ten milliseconds of a flow's rate, from two segments to a super-segment.
    pub write: Option<usize>,
    /// The way of the data.
    pub direction: Direction,
    /// The congestion control of both ends, by the kernel's name.
    pub congestion: String,
    /// Connections that are open meanwhile and carry nothing.
    pub idle: usize,
    /// Measures new connections as well, so many at a time.
    pub exchanges: Option<Exchange>,
    /// The measured time of a case.
    pub seconds: Duration,
    /// The rounds: in each, every program meets every load.
    pub rounds: u32,
    /// Threads for each end of transfers.
    pub threads: usize,
    /// The time that a program runs before it gets its load.
    pub settle: Duration,
    /// More lines for the gateways' `gateway.toml`.
    pub settings: String,
}

/// New connections, each with a request and an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The exchanges at a time.
    pub parallel: usize,
    /// The bytes of an answer.
    pub answer: usize,
}

/// One load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Bulk transfers.
    Transfers {
        /// How many.
        flows: usize,
        /// Of all together; None is full speed.
        rate: Option<Rate>,
    },
    /// New connections.
    Exchanges(Exchange),
}

impl Load {
    /// The connections that it has at a time.
    pub(super) fn connections(self) -> usize {
        match self {
            Load::Transfers { flows, .. } => flows,
            // A server's end may outlive the client's.
            Load::Exchanges(Exchange { parallel, .. }) => 4 * parallel,
        }
    }

    /// Tells whether round trips are measured meanwhile.
    ///
    /// Not where applications limit the rate: probes would take a good part of the processor time
    /// that is measured there.
    pub(super) fn is_probed(self) -> bool {
        !matches!(self, Load::Transfers { rate: Some(_), .. })
    }

    /// A few words.
    pub fn words(self) -> String {
        match self {
            Load::Transfers { flows, rate } => {
                let s = if flows == 1 { "" } else { "s" };
                let rate = rate.map_or("full speed".to_owned(), |rate| rate.to_string());
                format!("{flows} flow{s} at {rate}")
            }
            Load::Exchanges(_) => "new connections".to_owned(),
        }
    }
}

impl Plan {
    /// All loads, in the order of the table.
    pub fn loads(&self) -> Vec<Load> {
        let transfers = self
            .rates
            .iter()
            .flat_map(|&rate| self.flows.iter().map(move |&flows| Load::Transfers { flows, rate }));
        transfers.chain(self.exchanges.map(Load::Exchanges)).collect()
    }

    /// The number of measurements that this makes.
    pub fn measurements(&self) -> usize {
        self.loads().len() * self.forwarders.len() * self.rounds as usize
    }
}
