//! What a scenario comes to on real stacks: checked for every point of its sweep.

use super::{Error, gateways};
use bentpipe_scenario::{Change, Experiment, Point};
use bentpipe_testbed::flows::Browser;
use bentpipe_testbed::network::{
    Folder, Layout, Refusal, Stack, Stacks, refusals, stack, unrecorded,
};

/// More refusals than this are only counted.
const SHOWN: usize = 4;

/// A point on real stacks.
pub(crate) struct LivePoint {
    pub(crate) point: Point,
    pub(crate) stack: Stack,
    /// Each gateway's node, and its `gateway.toml`.
    pub(crate) gateways: Vec<(usize, String)>,
    /// What fetches its pages, from nginx, if that is not we.
    pub(crate) browser: Option<Browser>,
}

impl LivePoint {
    /// All that a run of it comes from, its number apart.
    pub(crate) fn canonical(&self) -> String {
        let programs = self.browser.map(|browser| format!("# nginx and {}\n", browser.name()));
        programs.unwrap_or_default() + &self.point.canonical
    }
}

/// All points of an experiment on the testbed `name`.
pub(crate) fn points(
    experiment: &Experiment,
    file: &str,
    name: &str,
    stacks: Stacks,
    browser: Option<Browser>,
) -> Result<Vec<LivePoint>, Error> {
    let layout = Layout::of(&experiment.point(0).scenario, name);
    let mut points = Vec::new();
    for point in experiment.points() {
        if Layout::of(&point.scenario, name) != layout {
            let label = &point.label;
            let what = format!("point {}: {label} changes the network itself", point.index);
            return Err(Error::Refused { file: file.to_owned(), what });
        }
        let refused = |all: &[Refusal], hint: &str| Error::Refused {
            file: file.to_owned(),
            what: listed(all) + hint,
        };
        let all = refusals(&point.scenario, browser);
        if !all.is_empty() {
            return Err(refused(&all, ""));
        }
        let hint =
            " (tcp = \"linux\" has what Linux has; --any-stack leaves the rest as it is there)";
        let stack = stack(&point.scenario, stacks).map_err(|all| refused(&all, hint))?;
        let gateways = gateways::files(experiment, &point, &layout)?;
        points.push(LivePoint { point, stack, gateways, browser });
    }
    Ok(points)
}

/// Says what is left as Linux has it, and what is not recorded.
pub(super) fn warn(points: &[LivePoint]) {
    let Some(first) = points.first() else { return };
    if !first.stack.left.is_empty() {
        eprintln!("bentpipe testbed: as Linux has it: {}", listed(&first.stack.left));
    }
    let unrecorded = unrecorded(&first.point.scenario);
    if !unrecorded.is_empty() {
        eprintln!("bentpipe testbed: not recorded live: {}", unrecorded.join(", "));
    }
}

fn listed(refused: &[Refusal]) -> String {
    // What the ends of many flows have in common is said once.
    let mut lines: Vec<String> = refused.iter().take(SHOWN).map(Refusal::to_string).collect();
    if refused.len() > SHOWN {
        lines.push(format!("and {} more", refused.len() - SHOWN));
    }
    lines.join("; ")
}

/// The experiment of a testbed that is up, with `changes`.
pub(super) fn saved(folder: &Folder, file: &str, changes: &[Change]) -> Result<Experiment, Error> {
    let (source, files) = (folder.source()?, folder.files()?);
    let read = |path: &str| files.get(path).cloned().ok_or_else(|| "it is not there".to_owned());
    Ok(Experiment::parse_changed(file, &source, changes, &read)?)
}
