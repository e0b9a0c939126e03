//! Experiments on all cores: every point of a sweep, as often as its stopping rule says, with
//! results that say the same whatever the number of threads.
//!
//! [`execute()`] runs what is not yet in the [`Store`], [`Folder::write`] makes the tables of it.
//! Between the two there is only the store: a run that was finished once is read and not run
//! again, and an experiment that was interrupted goes on where it stopped.
#![forbid(unsafe_code)]

mod attempt;
mod cell;
pub mod drawing;
mod execute;
pub mod figures;
mod folder;
mod packet_files;
mod panics;
mod parquet_file;
mod plan;
mod readme;
mod series_file;
mod store;
mod summary;
mod swept;
mod table_file;
pub mod tables;

pub use cell::{Cell, Column, Heading, Kind, Row};
pub use execute::{Event, Executed, Failure, LabError, Options, execute};
pub use folder::{Folder, Results};
pub use panics::caught;
pub use plan::{Job, PointEnd};
pub use store::{Damaged, Key, RunRecord, Store, version};
pub use summary::{ElementSummary, PointSummary, SummaryTable};
