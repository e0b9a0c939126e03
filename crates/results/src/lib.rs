//! Results of a run: rows of flows, links, groups, gateways and transfers, and time series.
//!
//! The simulator and real hosts fill the same rows ([`RunResults`]). A count that a source cannot
//! give is absent, not zero. While a run lasts it hands packets, events and series to [`Sinks`].
#![forbid(unsafe_code)]

mod capture;
mod efficiency;
mod extended_counts;
mod flow;
mod flow_counts;
mod gateway;
mod group;
mod link;
mod run;
mod run_results;
mod series;
mod transfer;

pub use capture::{
    Agreed, Captured, Direction, End, EventSink, Interface, Observed, PacketSink, Passage,
};
pub use efficiency::most_goodputs;
pub use extended_counts::{ExtendedCounts, LossCauses};
pub use flow::{FlowRow, goodput, life};
pub use flow_counts::FlowCounts;
pub use gateway::{GatewayRow, LegCounts};
pub use group::{GroupRow, Spread};
pub use link::LinkRow;
pub use run::{RunError, Sinks};
pub use run_results::{RunResults, RunRow, fairness};
pub use series::{Sample, SeriesSink};
pub use transfer::{Completions, FlowId, Transfer, TransferRow};
