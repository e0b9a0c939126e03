//! Numbers from elsewhere over a figure's data: printed ones, and those of real hosts.

use super::DrawError;
use super::data::Data;
use super::plan::{Plan, wrong};
use bentpipe_plot::chart::{Overlay, OverlayMark};
use bentpipe_plot::scene::Shape;
use bentpipe_scenario::{PrintedPlace, PrintedRange, PrintedValue, Word};

/// Of the first label, the second and so on.
const SHAPES: [Shape; 3] = [Shape::Lozenge, Shape::Frame, Shape::Ring];

/// The marks of `plan`'s figure over `data`, whose curves look as `style_of` says.
///
/// # Errors
/// [`DrawError::Named`] for a printed value of a curve, a panel or a place that is not there.
pub(super) fn overlays(
    plan: &Plan<'_>,
    data: &Data,
    style_of: impl Fn(usize) -> usize,
) -> Result<Vec<Overlay>, DrawError> {
    let mut all: Vec<Overlay> = Vec::new();
    for printed in &plan.figure.printed {
        let mut mark = mark(plan, data, printed)?;
        mark.style = mark.style.map(&style_of);
        // A line and a mark have two looks in the legend.
        let same = |one: &&mut Overlay| {
            one.name == printed.label && one.marks[0].x.is_some() == mark.x.is_some()
        };
        match all.iter_mut().find(same) {
            Some(overlay) => overlay.marks.push(mark),
            None => {
                let shape = SHAPES[all.len() % SHAPES.len()];
                let name = printed.label.clone();
                all.push(Overlay { name, shape, marks: vec![mark] });
            }
        }
    }
    let measured = data.live.iter().map(|point| OverlayMark {
        panel: Some(point.panel),
        style: Some(style_of(point.curve)),
        x: Some(point.x),
        y: point.y,
        error: point.error,
        is_range: false,
    });
    let marks: Vec<OverlayMark> = measured.collect();
    if !marks.is_empty() {
        all.push(Overlay { name: "on real hosts".to_owned(), shape: Shape::Star, marks });
    }
    Ok(all)
}

fn mark(plan: &Plan<'_>, data: &Data, printed: &PrintedValue) -> Result<OverlayMark, DrawError> {
    let index = |word: &Word, names: &[String], what: &str| {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let missing = || {
            let hint = bentpipe_config::hint(&word.text, known.iter().copied());
            wrong(
                plan.figure,
                word,
                &format!("printed: there is no {what} `{}` ({hint})", word.text),
            )
        };
        known.iter().position(|name| *name == word.text).ok_or_else(missing)
    };
    let x = match &printed.x {
        None => None,
        Some(PrintedPlace::Named(word)) => {
            Some(index(word, &data.categories, "name on the axis below")? as f64)
        }
        Some(PrintedPlace::At(x)) if data.categories.is_empty() => Some(*x),
        Some(PrintedPlace::At(x)) => {
            let why = format!(
                "printed: x = {x}: the axis below has names, such as `{}`",
                data.categories[0]
            );
            return Err(wrong(plan.figure, &plan.figure.y, &why));
        }
    };
    let curve = |word: &Word| index(word, &data.curves, "curve");
    let panel = |word: &Word| index(word, &data.panels, "panel");
    Ok(OverlayMark {
        panel: printed.panel.as_ref().map(panel).transpose()?,
        style: printed.curve.as_ref().map(curve).transpose()?,
        x,
        y: printed.y.middle(),
        error: printed.y.half(),
        is_range: matches!(printed.y, PrintedRange::Between(..)),
    })
}
