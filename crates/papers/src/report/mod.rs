//! What was found: a page a paper, with its figures and its claims, and a scoreboard.

mod appendix;
mod axis;
mod block;
mod future_work;
mod overview;
mod page;
mod score;
mod tables;
mod text;
mod transitions;
mod write;

pub use score::{ClaimClass, Score, Share};
pub use text::{placeholder, placeholder_parts};
pub use write::{write, write_docs};

use crate::catalogue::Catalogue;
use crate::live::Comparison;
use crate::run::Drawing;
use crate::tested::Tested;
use crate::verdict::Judged;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// In a figure's folder: one of its runs, packet by packet.
pub const GRAPH: &str = "graph.html";

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
#[error("cannot write {path}: {source}")]
pub struct ReportError {
    path: String,
    source: io::Error,
}

/// A figure that was run.
#[derive(Debug, Clone)]
pub struct Judgement {
    /// Its id.
    pub figure: String,
    /// Its claims with what was found.
    pub claims: Vec<Judged>,
    /// The cells that are no claim's, row by row, by the tables' names.
    pub tables: BTreeMap<String, Vec<Vec<f64>>>,
    /// Its pictures.
    pub drawings: Vec<Drawing>,
    /// What real hosts have given, beside the simulator.
    pub beside: Vec<Comparison>,
    /// The most runs of a point.
    pub runs: u32,
    /// How long it took, in seconds.
    pub wall_s: f64,
}

/// What was found of all figures that were run.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// In the order of the papers.
    pub figures: Vec<Judgement>,
    /// How long all of it took, in seconds.
    pub wall_s: f64,
    /// The commit and its date, if it was made in a checkout of the project:
    /// `808c222a1b2c of 2026-11-23`.
    pub commit: Option<String>,
    /// What the tests gave that claims name.
    pub tested: Tested,
}

impl Report {
    /// Adds a figure.
    pub fn add(&mut self, judgement: Judgement) {
        self.figures.push(judgement);
    }

    /// What was found of this figure, if it was run.
    pub fn figure(&self, id: &str) -> Option<&Judgement> {
        self.figures.iter().find(|judgement| judgement.figure == id)
    }

    /// What was found of this claim, if its figure was run.
    pub fn judged(&self, claim: &str) -> Option<&Judged> {
        let mut all = self.figures.iter().flat_map(|figure| &figure.claims);
        all.find(|judged| judged.claim.id == claim)
    }

    /// Of all papers.
    pub fn score(&self, catalogue: &Catalogue) -> Score {
        Score::of(catalogue, self, |_| true)
    }

    /// Which tests this rests on, as a sentence.
    fn tests_origin(&self) -> String {
        match self.tested.tests.len() {
            0 => "The tests that claims name were not run here.".to_owned(),
            _ => format!("The tests that claims name were run at commit {}.", self.tested.commit),
        }
    }

    /// Which commit this is of, as a sentence; nothing if that is not known.
    fn origin(&self) -> String {
        self.commit.as_ref().map_or_else(String::new, |commit| format!("Made at commit {commit}."))
    }

    /// As JSON: in all, and by paper.
    pub fn json(&self, catalogue: &Catalogue) -> Value {
        let papers = catalogue.papers.iter().map(|paper| {
            let score = Score::of(catalogue, self, |other| other.name == paper.name);
            (paper.name.clone(), score.json())
        });
        let mut all = self.score(catalogue).json();
        all["wall_s"] = json!(self.wall_s);
        all["papers"] = Value::Object(papers.collect());
        all
    }
}

fn write_file(path: &Path, content: &str) -> Result<(), ReportError> {
    let failed = |source| ReportError { path: path.display().to_string(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, content).map_err(failed)
}
