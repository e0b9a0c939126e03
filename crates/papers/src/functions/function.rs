//! The type of a claim's function.

use crate::run::{Number, Ran};

/// Measures the numbers of a claim.
pub type Function = fn(&Ran) -> Result<Vec<Number>, String>;
