//! Results of a run: rows of flows, links, groups, gateways and transfers, and time series.
//!
//! The simulator and real hosts fill the same rows ([`Outcome`]). A count that a source cannot give is absent, not
//! zero. While a run lasts it hands packets, events and series to [`Sinks`].
#![forbid(unsafe_code)]

mod capture;
mod efficiency;
mod group;
mod outcome;
mod run;
mod series;
mod tally;
mod transfer;

pub use capture::{
    Agreed, Captured, Direction, End, EventSink, Interface, Observed, PacketSink, Passage,
};
pub use efficiency::most_goodputs;
pub use group::{GroupRow, Spread};
pub use outcome::{FlowId, FlowRow, GatewayRow, LinkRow, Outcome, RunRow, fairness, goodput};
pub use run::{RunError, Sinks};
pub use series::{Sample, SeriesSink};
pub use tally::{LossCauses, Tally};
pub use transfer::{Completions, Transfer, TransferRow};
