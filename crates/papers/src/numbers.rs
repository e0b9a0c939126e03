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
    let mut checks: Vec<&Check> = claim.checks.iter().collect();
    checks.sort_by_cached_key(|check| place(&check.name));
    checks.into_iter().map(number).collect()
}

/// Where a name stands among others: texts by their letters, digits in them by their value.
fn place(name: &str) -> Vec<(String, u64)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, tail) = rest.split_at(digits);
        let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
        parts.push((text.to_owned(), tail[..end].parse().unwrap_or_default()));
        rest = &tail[end..];
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::place;

    #[test]
    fn names_stand_in_the_order_of_the_numbers_in_them() {
        let mut names = ["drops-1152", "drops-576", "iw-2-less-iw-4", "iw-2-less-iw-3", "drops"];
        names.sort_by_cached_key(|name| place(name));
        let wanted = ["drops", "drops-576", "drops-1152", "iw-2-less-iw-3", "iw-2-less-iw-4"];
        assert_eq!(names, wanted);
    }
}
