//! The extension module of the Python package `bentpipe`: what the package needs of the laboratory
//! and of the core. What users see is in `python/src/bentpipe`.
#![allow(clippy::needless_pass_by_value, reason = "arguments come from Python as values")]

mod campaign;
mod capture;
mod clock;
mod columns;
mod control;
mod error;
mod experiment;
mod plan;
mod progress;
mod table;
mod tcp;
mod traces;
mod worker;

use pyo3::prelude::*;

/// What Python imports.
#[pymodule]
mod _bentpipe {
    use super::Bound;
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::campaign::run;
    #[pymodule_export]
    use super::capture::read_capture;
    #[pymodule_export]
    use super::columns::{columns, quantities};
    #[pymodule_export]
    use super::control::Control;
    #[pymodule_export]
    use super::experiment::{Experiment, examples};
    #[pymodule_export]
    use super::plan::Plan;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::tcp::{Connection, Link, Segment, check_tcp, presets};
    #[pymodule_export]
    use super::traces::TraceBench;
    #[pymodule_export]
    use super::worker::{Stop, make_runs};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        let named: Vec<_> = bentpipe_scenario::reference::tables_by_name().collect();
        module.add("TABLES_BY_NAME", named)?;
        module.add("ON_ACK", super::control::ON_ACK)?;
        module.add("ON_LOSS", super::control::ON_LOSS)?;
        module.add("VERSION", env!("CARGO_PKG_VERSION"))?;
        module.add("RESULTS_VERSION", bentpipe_lab::version())
    }
}
