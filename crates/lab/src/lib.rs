//! Experiments on all cores: every point of a sweep, as often as its stopping rule says, with
//! results that say the same whatever the number of threads.
//!
//! [`execute()`] runs what is not yet in the [`Store`], [`Folder::write`] makes the tables of it.
//! Between the two there is only the store: a run that was finished once is read and not run
//! again, and an experiment that was interrupted goes on where it stopped.
#![forbid(unsafe_code)]

mod attempt;
pub mod captures;
mod cell;
mod dispatch;
pub mod drawing;
mod examples;
mod execute;
mod executed;
pub mod figures;
mod folder;
mod measure;
mod merge;
mod occupied;
mod packet_files;
mod panics;
mod parquet_file;
mod part;
mod plan;
mod point_figures;
mod readme;
mod runner;
mod series_file;
mod shard;
mod shipment;
mod source;
mod spool;
mod store;
mod summary;
mod swept;
mod table_file;
pub mod tables;
pub mod traces;
mod written;

pub use attempt::{Attempt, make};
pub use cell::{Cell, CellKind, Column, Heading, Row};
pub use dispatch::{Campaign, Dispatch};
pub use examples::{EXAMPLES, Example};
pub use execute::{Options, execute};
pub use executed::{Event, Executed, Failure, LabError};
pub use folder::{Folder, Results};
pub use measure::{Make, measure};
pub use merge::{MergeError, Merged, merge};
pub use panics::caught;
pub use part::{ExperimentPart, PartError};
pub use plan::{Job, Next, PointEnd};
pub use point_figures::ElementSummary;
pub use runner::Runner;
pub use shard::{Shard, ShardError};
pub use shipment::{Shipment, ShipmentError};
pub use source::{Source, SourceError};
pub use store::{Damaged, Key, RunRecord, Store, version};
pub use summary::{PointSummary, SummaryTable};
