//! A figure's pictures: in the paper's order, with marks of real hosts.

use super::{Options, Part, Ran, RunError};
use crate::catalogue::Figure;
use bentpipe_lab::drawing::{self, Additions, JoinedPart};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// A picture of a figure.
#[derive(Debug, Clone)]
pub struct Drawing {
    /// Of this scenario.
    pub scenario: String,
    /// What was drawn.
    pub figure: drawing::DrawnFigure,
}

impl Ran {
    /// Draws the figures of its scenarios into their folders.
    ///
    /// # Errors
    /// [`RunError`] if tables or figures cannot be written, or a picture is of what there is not.
    pub fn draw<'a>(
        &'a self,
        figure: &'a Figure,
        options: &Options<'_>,
    ) -> Result<Vec<Drawing>, RunError> {
        let failed = |why: String| RunError::Failed { figure: figure.id.clone(), why };
        let folder = |name: &str| options.folder.join(&figure.id).join(name);
        let folders: BTreeMap<&str, PathBuf> =
            self.parts.keys().map(|name| (name.as_str(), folder(name))).collect();
        for (name, part) in &self.parts {
            part.write(&folders[name.as_str()])?;
        }
        let live = |name: &str| {
            let (part, name) = (&self.parts[name], name.to_owned());
            move |point: usize, flow: &str, column: &str| {
                self.measured_at(&name, part, point, flow, column)
            }
        };
        let samples: BTreeMap<&str, _> =
            self.parts.keys().map(|name| (name.as_str(), live(name))).collect();
        let mut joined = BTreeMap::new();
        for (picture, curves) in &figure.joined {
            let part = |curve: &'a [String; 2]| {
                let [name, curve] = curve;
                let part = self.part(name).map_err(&failed)?;
                Ok(JoinedPart {
                    folder: &folders[name.as_str()],
                    experiment: &part.experiment,
                    curve,
                    live: &samples[name.as_str()],
                })
            };
            let parts = curves.iter().map(part).collect::<Result<Vec<_>, RunError>>()?;
            joined.insert(picture.as_str(), parts);
        }
        let mut drawings = Vec::new();
        for (name, part) in &self.parts {
            let additions = Additions { live: &samples[name.as_str()], joined: joined.clone() };
            let drawn = drawing::draw_with(&folders[name.as_str()], &part.experiment, &additions);
            if let Some(failure) = drawn.failures.first() {
                return Err(failed(failure.to_string()));
            }
            let asked = !part.experiment.figures.is_empty();
            let figures = drawn.figures.into_iter().filter(|_| asked);
            drawings.extend(figures.map(|figure| Drawing { scenario: name.clone(), figure }));
        }
        in_order(&mut drawings, &figure.pictures).map_err(failed)?;
        Ok(drawings)
    }

    /// The numbers of real hosts in a flow's column at point `point`, by run.
    fn measured_at(
        &self,
        name: &str,
        part: &Part,
        point: usize,
        flow: &str,
        column: &str,
    ) -> Vec<f64> {
        let kept = part.numbered(point).and_then(|point| self.live.of(name, point));
        kept.and_then(|kept| kept.samples(flow, column).ok()).unwrap_or_default()
    }
}

/// Sorts pictures: those that are named come first, in the order of the names.
fn in_order(drawings: &mut [Drawing], names: &[String]) -> Result<(), String> {
    let has = |name: &String| drawings.iter().any(|drawing| drawing.figure.name == *name);
    if let Some(missing) = names.iter().find(|name| !has(name)) {
        return Err(format!("`pictures` names `{missing}`, and no scenario has such a figure"));
    }
    let place = |drawing: &Drawing| names.iter().position(|name| *name == drawing.figure.name);
    drawings.sort_by_key(|drawing| place(drawing).unwrap_or(usize::MAX));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_lab::drawing::DrawnFigure;

    #[test]
    fn pictures_stand_in_the_order_that_the_figure_says() {
        let drawing = |name: &str| Drawing {
            scenario: String::new(),
            figure: DrawnFigure {
                name: name.to_owned(),
                title: String::new(),
                caption: String::new(),
                files: Vec::new(),
            },
        };
        let mut all = ["kernels", "other", "rates", "today"].map(drawing);
        let names = ["rates", "today", "kernels"].map(str::to_owned);
        in_order(&mut all, &names).unwrap();
        let found: Vec<&str> = all.iter().map(|drawing| drawing.figure.name.as_str()).collect();
        assert_eq!(found, ["rates", "today", "kernels", "other"]);
        let wrong = in_order(&mut all, &["rate".to_owned()]).unwrap_err();
        assert!(wrong.contains("`rate`"), "{wrong}");
    }
}
