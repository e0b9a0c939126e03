//! Experiments as TOML, and as a checked model: the network of hosts, routers, gateways and
//! links, the flows and faults on it, what is recorded, which fields are swept over which values,
//! and how often every point is run.
//!
//! [`Experiment::parse`] reads a file, checks every point of its sweep, and complains in one line
//! that points at the file, line and column. [`Experiment::point`] gives a [`Scenario`], a plain
//! value with all names resolved and all TCP texts parsed, which is all that a simulator needs.
//! Nothing here knows a clock; files are read only through a function of the caller.
//!
//! The format's reference is `docs/scenario-format.md`; [`mod@reference`] has the same as data.
#![forbid(unsafe_code)]

mod chance;
mod change;
mod control;
mod copies;
mod experiment;
mod fault;
mod figure;
mod flow;
mod group;
mod link;
mod live;
mod middlebox;
mod names;
pub mod network;
mod node;
pub mod orbit;
mod path;
mod proxy;
mod range;
mod record;
pub mod reference;
pub mod repeat;
mod run;
mod scenario;
mod sweep;
mod variant;
pub mod web;
mod workload;

pub use change::{Change, ChangeError};
pub use experiment::{Experiment, Point};
pub use fault::{Fault, FaultKind};
pub use figure::{
    AxisName, AxisText, Errors, Figure, FigureKind, Line, PrintedPlace, PrintedRange, PrintedValue,
    ReferenceLine, Word,
};
pub use flow::Flow;
pub use group::Group;
pub use link::Link;
pub use middlebox::{Alias, Middlebox, MiddleboxKind};
pub use names::{LinkIndex, NodeIndex};
pub use node::{Ecmp, Gateway, Node, NodeKind, Sharing};
pub use proxy::{ForeignProxy, NotSimulated};
pub use record::{FlowSeries, GatewaySeries, LinkSeries, MiddleboxSeries, SeriesRecording};
pub use repeat::Repeat;
pub use run::{Run, RunEnd};
pub use scenario::Scenario;
pub use variant::KEY as VARIANT;
pub use workload::{Arrivals, FlowEnd, Http, Http2, HttpVersion, Load, PingPace, Reuse, Workload};
