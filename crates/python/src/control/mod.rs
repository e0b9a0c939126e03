//! Congestion controls written in Python. Every acknowledgment calls them: that costs a microsecond
//! or two each.

mod methods;
mod raised;
mod registered;
mod runner;
mod sample;
mod sender;

pub(crate) use methods::Methods;
pub(crate) use raised::check;
pub(crate) use registered::{Control, externals};
pub(crate) use runner::Simulator;
pub(crate) use sample::{ON_ACK, ON_LOSS};
pub(crate) use sender::PythonControl;
