//! The numbers that a claim is about, measured in what was run.

use crate::catalogue::{Check, Claim};
use crate::functions;
use crate::run::{Number, Ran, measure};

/// Measures the numbers of a claim: by its checks, or by its function if it has none.
///
/// # Errors
/// What is missing, in a sentence.
pub(crate) fn of_claim(ran: &Ran, claim: &Claim) -> Result<Vec<Number>, String> {
    if claim.checks.is_empty() {
        let function = functions::find(&claim.id)
            .ok_or_else(|| format!("{}: it has neither a check nor a function", claim.id))?;
        return function(ran);
    }
    let number = |check: &Check| {
        let samples = measure(ran, &check.form)
            .map_err(|why| format!("{}, {}: {why}", claim.id, check.name))?;
        Ok(Number { name: check.name.clone(), samples })
    };
    claim.checks.iter().map(number).collect()
}
