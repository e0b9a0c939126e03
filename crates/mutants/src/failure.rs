//! Why no verdict can be given.

use crate::mutant::MutantError;
use std::io;
use thiserror::Error;

/// Why this program gives up.
#[derive(Debug, Error)]
pub(crate) enum Failure {
    /// A file in `tests/mutants` is no mutant.
    #[error(transparent)]
    Mutant(#[from] MutantError),
    /// There is none of this name.
    #[error("there is no mutant {0}")]
    Unknown(String),
    /// A file or a program.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The copy cannot be built, and it is no mutant's fault.
    #[error("{0}the tests do not compile without any mutant")]
    Build(String),
    /// Tests that fail anyway find nothing.
    #[error("{said}{tests} do not pass without any mutant")]
    Tests { said: String, tests: String },
}
