//! What a scenario comes to on real stacks: checked for every point of its sweep.

mod gateway_programs;

use crate::browser::Browser;
use crate::network::{
    Folder, GatewayProgram, Layout, NetworkError, Refusal, Stack, Stacks, refusals, stack,
    unrecorded,
};
use crate::proxy::ProxyCommand;
use bentpipe_config::DocumentError;
use bentpipe_scenario::{Change, Experiment, Point};
use std::path::Path;

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
    /// A foreign program without a command.
    #[error("gateway.{gateway}.proxy: give the command of `{proxy}`: --proxy {proxy}=COMMAND")]
    NoProxy {
        /// The gateway's name.
        gateway: String,
        /// The program's.
        proxy: String,
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
    /// The settings of Linux for it.
    pub stack: Stack,
    /// Each gateway's node and program.
    pub gateways: Vec<(usize, GatewayProgram)>,
    /// What fetches its pages, from nginx, if that is not we.
    pub browser: Option<Browser>,
}

impl LivePoint {
    /// All that a run of it comes from, its number apart.
    pub fn canonical(&self) -> String {
        let browser = self.browser.map(|browser| format!("# nginx and {}\n", browser.name()));
        let mut text = browser.unwrap_or_default();
        for (_, program) in &self.gateways {
            if let GatewayProgram::Foreign(proxy) = program {
                let words: Vec<String> = proxy.words(Path::new("proxy.cfg")).collect();
                text.push_str(&format!("# {}: {}\n", proxy.name, words.join(" ")));
            }
        }
        text + &self.point.canonical
    }
}

/// Programs of others that play a part.
#[derive(Debug, Clone, Copy, Default)]
pub struct ForeignPrograms<'a> {
    /// The browser that fetches pages, from nginx.
    pub browser: Option<Browser>,
    /// The commands of foreign gateways.
    pub proxies: &'a [ProxyCommand],
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
    programs: ForeignPrograms<'_>,
) -> Result<Vec<LivePoint>, PlanError> {
    let points = 0..experiment.len();
    points.map(|index| point(experiment, index, file, name, stacks, programs)).collect()
}

/// The point `index` of an experiment on the testbed `name`.
///
/// # Errors
/// [`PlanError`].
pub fn point(
    experiment: &Experiment,
    index: usize,
    file: &str,
    name: &str,
    stacks: Stacks,
    programs: ForeignPrograms<'_>,
) -> Result<LivePoint, PlanError> {
    let ForeignPrograms { browser, proxies } = programs;
    let layout = Layout::of(&experiment.point(0).scenario, name);
    let point = experiment.point(index);
    if Layout::of(&point.scenario, name) != layout {
        let what = format!("point {index}: {} changes the network itself", point.label);
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
    let hint = " (tcp = \"linux\" has what Linux has; --any-stack leaves the rest as it is there)";
    let stack = stack(&point.scenario, stacks).map_err(|all| refused(&all, hint))?;
    let gateways = gateway_programs::programs(experiment, &point, &layout, proxies)?;
    Ok(LivePoint { point, stack, gateways, browser })
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
