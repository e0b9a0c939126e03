//! Scores of congestion controls and gateways on traces of links.
//!
//! The setting is LeoReplayer's (Lai et al., SIGCOMM 2025): a bulk flow or several, 100 KB every
//! second, and a ping every 100 ms. A scenario says it, which stands with its traces in the folder
//! of results.

mod contender;
mod files;
mod score;
mod way;

pub use contender::{Contender, ContenderError};
pub use files::{TraceFileError, built_in, of_path};
pub use score::{Score, Scores, scores};
pub use way::Way;

use bentpipe_config::DocumentError;
use bentpipe_core::time::Duration;
use bentpipe_scenario::Experiment;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The name of the scenario's file in messages.
pub const FILE: &str = "traces.toml";

/// The network, the flows and the figures.
const NETWORK: &str = include_str!("network.toml");

/// A trace to replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trace {
    /// Its name, in tables and figures.
    pub name: String,
    /// CSV, as a link of a scenario reads it.
    pub text: String,
    /// Its length.
    pub length: Duration,
    /// The direction that it is of.
    pub way: Way,
    /// Notes on its file: columns that were left out, or taken as something.
    pub notes: Vec<String>,
}

/// Each contender on each trace with each number of flows.
#[derive(Debug, Clone)]
pub struct TraceBench {
    /// On these.
    pub traces: Vec<Trace>,
    /// These.
    pub contenders: Vec<Contender>,
    /// So many bulk flows.
    pub flows: Vec<u32>,
    /// A trace is replayed for so long at most.
    pub longest: Duration,
    /// With so many seeds.
    pub runs: u32,
}

impl TraceBench {
    /// Runs once what is said twice, and numbers traces of one name.
    pub fn new(
        traces: Vec<Trace>,
        contenders: Vec<Contender>,
        flows: Vec<u32>,
        longest: Duration,
        runs: u32,
    ) -> TraceBench {
        let mut names = BTreeMap::new();
        let traces = traces.into_iter().map(|trace| {
            let before: &mut u32 = names.entry(trace.name.clone()).or_default();
            *before += 1;
            let name = match *before {
                1 => trace.name,
                number => format!("{}+{number}", trace.name),
            };
            Trace { name, ..trace }
        });
        let traces = traces.collect();
        let (contenders, flows) = (once(contenders), once(flows));
        TraceBench { traces, contenders, flows, longest, runs }
    }

    /// Everything as one experiment.
    ///
    /// # Errors
    /// [`DocumentError`] for a contender that is no TCP.
    pub fn experiment(&self) -> Result<Experiment, DocumentError> {
        let files = self.files();
        let read = |path: &str| files.get(path).cloned().ok_or_else(|| "no such trace".to_owned());
        Experiment::parse_changed(FILE, &self.scenario(), &[], &read)
    }

    /// The files that the scenario names, and their texts.
    pub fn files(&self) -> BTreeMap<String, String> {
        self.traces.iter().map(|trace| (trace.file(), trace.text.clone())).collect()
    }

    /// The scenario's text.
    pub fn scenario(&self) -> String {
        let mut text = NETWORK.to_owned();
        let seconds = self.traces.iter().map(|trace| self.lasts(trace).as_secs_f64());
        let most = seconds.clone().fold(1.0, f64::max).ceil();
        let shorts = self.traces.iter().map(|trace| self.shorts(trace)).max().unwrap_or(1);
        let list = |items: Vec<String>| items.join(", ");
        let quoted = |item: String| format!("\"{item}\"");
        let of = |what: &dyn Fn(&Trace) -> String| list(self.traces.iter().map(what).collect());
        let lines = [
            format!("[run]\nduration = \"{most}s\"\n[repeat]\nruns = {}\n", self.runs),
            "[sweep]".to_owned(),
            format!("\"link.sat.trace\" = [{}]", of(&|trace| quoted(trace.file()))),
            format!("\"link.sat.queue\" = [{}]", of(&|trace| quoted(trace.way.queue().to_owned()))),
            format!("\"link.sat.loss\" = [{}]", of(&|trace| trace.way.loss().to_string())),
            format!(
                "\"run.duration\" = [{}]",
                list(seconds.map(|s| format!("\"{s}s\"")).collect())
            ),
            format!(
                "\"flow.bulk.count\" = [{}]",
                list(self.flows.iter().map(u32::to_string).collect())
            ),
            "zip = [[\"link.sat.trace\", \"link.sat.queue\", \"link.sat.loss\", \"run.duration\"]]"
                .to_owned(),
        ];
        // Tables of the base come first: a field may be set in one place only.
        for line in lines {
            writeln!(text, "{line}").expect("a text takes all");
        }
        for contender in &self.contenders {
            text.push_str(&contender.variant());
        }
        let counted = format!("[flow.\"short{{n}}\"]\ncount = {shorts}");
        text = text.replace("[flow.\"short{n}\"]", &counted);
        let shorts = list((1..=shorts).map(|number| quoted(format!("short{number}"))).collect());
        let chosen = format!("[figure.short]\nwhere = {{ flow = [{shorts}] }}");
        let text = text.replace("[figure.short]", &chosen);
        let flows =
            |count: &u32| quoted(format!("{count} flow{}", if *count == 1 { "" } else { "s" }));
        let names = format!(
            "names = {{ \"link.sat.trace\" = [{}], \"flow.bulk.count\" = [{}] }}\ntitle =",
            of(&|trace| quoted(trace.name.clone())),
            list(self.flows.iter().map(flows).collect())
        );
        let (network, figures) = text.split_once("[figure.").unwrap_or((&text, ""));
        format!("{network}[figure.{}", figures.replace("title =", &names))
    }

    /// So many short transfers begin on a trace, one every second; the last one may still end.
    fn shorts(&self, trace: &Trace) -> u64 {
        (self.lasts(trace).as_secs_f64().ceil() as u64).saturating_sub(1).max(1)
    }

    /// How long a trace is replayed.
    fn lasts(&self, trace: &Trace) -> Duration {
        trace.length.min(self.longest)
    }
}

/// Those that differ, in their order.
fn once<T: PartialEq>(all: Vec<T>) -> Vec<T> {
    let mut once = Vec::new();
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

impl Trace {
    /// Its file's name in the folder of results.
    fn file(&self) -> String {
        format!("{}.csv", self.name)
    }
}
