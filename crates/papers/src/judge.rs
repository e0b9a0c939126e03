//! A figure is run, its claims are measured, and each has its verdict.

use crate::catalogue::{Catalogue, Claim, ClaimMethod, Figure};
use crate::numbers;
use crate::run::{Options, Ran, RunError};
use crate::sensitivity::Sensitivity;
use crate::verdict::Judged;
use bentpipe_lab::Event;

/// Runs a figure and judges its claims.
///
/// # Errors
/// [`RunError`].
pub fn judge(
    catalogue: &Catalogue,
    figure: &Figure,
    options: &Options<'_>,
    watch: &(dyn Fn(Event<'_>) + Sync),
) -> Result<(Ran, Vec<Judged>), RunError> {
    let ran = Ran::new(figure, catalogue.files(), options, watch)?;
    // What real hosts decide waits until all of it was measured.
    let measured = ran.is_measured(figure);
    let mut judged = claims(figure, &ran, |claim| measured || !is_live(claim))
        .map_err(|why| RunError::Failed { figure: figure.id.clone(), why })?;
    let range = Sensitivity::read(catalogue.files(), figure)?;
    for judged in &mut judged {
        judged.verdict = range.verdict(judged);
        judged.others = range.of(&judged.claim.id).cloned().collect();
    }
    Ok((ran, judged))
}

/// Judges the claims of a figure that real hosts decide; none if not all was measured.
///
/// # Errors
/// What is missing, in a sentence.
pub fn live_claims(figure: &Figure, ran: &Ran) -> Result<Vec<Judged>, String> {
    let measured = ran.is_measured(figure);
    claims(figure, ran, |claim| measured && is_live(claim))
}

/// Whether real hosts decide a claim.
fn is_live(claim: &Claim) -> bool {
    claim.entry.how == ClaimMethod::Emulator
}

fn claims(
    figure: &Figure,
    ran: &Ran,
    wanted: impl Fn(&Claim) -> bool,
) -> Result<Vec<Judged>, String> {
    let claims = figure.claims.iter().filter(|claim| wanted(claim));
    claims.map(|claim| Judged::new(claim, &numbers::of_claim(ran, claim)?)).collect()
}
