//! What a scenario comes to on real stacks: checked for every point of its sweep.

mod gateway_files;

use crate::browser::Browser;
use crate::network::{
    Folder, Layout, NetworkError, Refusal, Stack, Stacks, refusals, stack, unrecorded,
};
use bentpipe_config::DocumentError;
use bentpipe_scenario::{Change, Experiment, Point};

/// More refusals than this are only counted.
const SHOWN: usize = 4;

/// Why a scenario cannot be run on real stacks.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// Something of it cannot be had live.
    #[error("{file} cannot be run on real stacks: {what}")]
    Refused {
        /// The file.
        file: String,
        /// Which keys, and why.
        what: String,
    },
    /// A gateway's tables.
    #[error("gateway.{gateway}: {why}")]
    Gateway {
        /// Which.
        gateway: String,
        /// What is wrong.
        why: String,
    },
    /// The scenario, or a gateway's file.
    #[error(transparent)]
    Document(#[from] DocumentError),
    /// The testbed's files.
    #[error(transparent)]
    Network(#[from] NetworkError),
}

/// A point on real stacks.
pub struct LivePoint {
    /// The point.
    pub point: Point,
    /// How Linux is set for it.
    pub stack: Stack,
    /// Each gateway's node, and its `gateway.toml`.
    pub gateways: Vec<(usize, String)>,
    /// What fetches its pages, from nginx, if that is not we.
    pub browser: Option<Browser>,
}

impl LivePoint {
    /// All that a run of it comes from, its number apart.
    pub fn canonical(&self) -> String {
        let programs = self.browser.map(|browser| format!("# nginx and {}\n", browser.name()));
        programs.unwrap_or_default() + &self.point.canonical
    }
}

/// All points of an experiment on the testbed `name`.
///
/// # Errors
/// [`PlanError`], of the first point that has one.
pub fn points(
    experiment: &Experiment,
    file: &str,
    name: &str,
    stacks: Stacks,
    browser: Option<Browser>,
) -> Result<Vec<LivePoint>, PlanError> {
    let layout = Layout::of(&experiment.point(0).scenario, name);
    let mut points = Vec::new();
    for point in experiment.points() {
        if Layout::of(&point.scenario, name) != layout {
            let label = &point.label;
            let what = format!("point {}: {label} changes the network itself", point.index);
            return Err(PlanError::Refused { file: file.to_owned(), what });
        }
        let refused = |all: &[Refusal], hint: &str| PlanError::Refused {
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
        let gateways = gateway_files::files(experiment, &point, &layout)?;
        points.push(LivePoint { point, stack, gateways, browser });
    }
    Ok(points)
}

/// What is left as Linux has it, and what is not recorded: a line each.
pub fn remarks(points: &[LivePoint]) -> Vec<String> {
    let Some(first) = points.first() else { return Vec::new() };
    let mut remarks = Vec::new();
    if !first.stack.left.is_empty() {
        remarks.push(format!("as Linux has it: {}", listed(&first.stack.left)));
    }
    let unrecorded = unrecorded(&first.point.scenario);
    if !unrecorded.is_empty() {
        remarks.push(format!("not recorded live: {}", unrecorded.join(", ")));
    }
    remarks
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
///
/// # Errors
/// [`PlanError`]: its files are gone, or a change is wrong.
pub fn saved(folder: &Folder, file: &str, changes: &[Change]) -> Result<Experiment, PlanError> {
    let (source, files) = (folder.source()?, folder.files()?);
    let read = |path: &str| files.get(path).cloned().ok_or_else(|| "it is not there".to_owned());
    Ok(Experiment::parse_changed(file, &source, changes, &read)?)
}
