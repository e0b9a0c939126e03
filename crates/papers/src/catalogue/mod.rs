//! What is in `papers/`: papers, their figures, their claims, and how near a number has to come.

mod accepted;
mod claim;
mod costs;
mod earlier;
mod elsewhere;
mod entry;
mod expression;
mod figure;
mod files;
mod free;
mod freeze;
mod future_work;
mod layout;
mod ledger;
mod live;
mod located;

pub use accepted::{Accepted, AcceptedError};
#[cfg(test)]
pub(crate) use claim::ClaimFile;
pub use claim::{Cause, Check, Claim, Form, Measure};
pub use costs::{Costs, FigureCost, LiveCost};
pub use earlier::{Earlier, EarlierVerdict};
pub use elsewhere::{Elsewhere, Witness};
pub use entry::{ClaimKind, ClaimMethod, Entry};
#[cfg(test)]
pub(crate) use expression::definitions;
pub use expression::{Definitions, Expression, Node, Operator, Reducer};
pub use figure::{Figure, ScenarioPart};
pub use files::Files;
pub use free::{FreeParameter, FreeValue};
pub use freeze::{Change, frozen};
pub use future_work::Question;
pub use layout::{Cells, Layout};
pub use ledger::{Decided, Decision, Ledger, figure_digest, preset_digest};
pub use live::Live;
pub(crate) use live::{same, text};
pub use located::{ClaimPlace, LocatedClaim};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

/// What is wrong with a file in `papers/`.
#[derive(Debug, thiserror::Error)]
pub enum CatalogueError {
    /// The folder, or a file in it, cannot be read.
    #[error("cannot read {path}: {why}")]
    Read {
        /// Which.
        path: String,
        /// Why.
        why: String,
    },
    /// A file does not say what it should.
    #[error("{file}: {why}")]
    Content {
        /// The file, and the line if there is one.
        file: String,
        /// What is wrong.
        why: String,
    },
}

impl CatalogueError {
    pub(crate) fn content(file: impl Into<String>, why: impl Into<String>) -> CatalogueError {
        CatalogueError::Content { file: file.into(), why: why.into() }
    }
}

/// A paper.
#[derive(Debug, Clone)]
pub struct Paper {
    /// Its folder's name.
    pub name: String,
    /// What it is.
    pub about: About,
    /// Its figures and tables, in the paper's order.
    pub figures: Vec<Figure>,
    /// Claims that a test or a page decides, by their ids.
    pub elsewhere: BTreeMap<String, Elsewhere>,
    /// What its authors left to others, by their ids.
    pub questions: BTreeMap<String, Question>,
}

/// `paper.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct About {
    /// What it is called.
    pub title: String,
    /// Who wrote it, and when.
    pub authors: String,
    /// What it is about, in our words.
    pub about: String,
    /// What its claims' ids begin with.
    pub prefix: String,
    /// How many claims it makes: none is left out.
    pub claims: usize,
    /// The figures' files, in the paper's order.
    pub figures: Vec<String>,
    /// The statements that it is known for.
    #[serde(default)]
    pub known: Vec<Known>,
}

/// A statement that a paper is known for.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Known {
    /// In our words.
    pub says: String,
    /// The printed words.
    pub printed: String,
    /// The claim that has it.
    pub claim: String,
    /// The name of the claim's number.
    pub number: String,
    /// The unit in which it is shown, or what it is a share of.
    pub unit: String,
    /// The number in that unit is so many times as large.
    #[serde(default = "one")]
    pub scale: f64,
}

fn one() -> f64 {
    1.0
}

/// All of it.
#[derive(Debug, Clone)]
pub struct Catalogue {
    /// The papers, in the order of `papers.toml`.
    pub papers: Vec<Paper>,
    /// What was changed in what is accepted, since it was frozen.
    pub changes: Vec<Change>,
    /// The decisions after a first result.
    pub ledger: Ledger,
    /// The verdicts of an earlier commit's pages.
    pub earlier: Option<Earlier>,
    /// The time and the room that figures took, where they were last run.
    pub costs: Option<Costs>,
    files: Files,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Papers {
    papers: Vec<String>,
    /// The seed of all experiments that no real hosts run. Theirs have seeds of their own: runs
    /// are compared one by one.
    seed: Option<u64>,
}

impl Catalogue {
    /// Reads all files.
    ///
    /// # Errors
    /// [`CatalogueError`] for the first thing that is wrong.
    pub fn read(files: Files) -> Result<Catalogue, CatalogueError> {
        let Papers { papers, seed } = parse(&files, "papers.toml")?;
        let papers =
            papers.iter().map(|name| paper(&files, name, seed)).collect::<Result<_, _>>()?;
        let changes = freeze::changes(&files)?;
        let ledger = ledger::read(&files)?;
        let (earlier, costs) = (earlier::read(&files)?, costs::read(&files)?);
        Ok(Catalogue { papers, changes, ledger, earlier, costs, files })
    }

    /// The files that it was read from.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Figures by their ids: `bbn/fig-8`, or a whole paper, `bbn`.
    pub fn find(&self, id: &str) -> Vec<(&Paper, &Figure)> {
        let id = id.trim_end_matches('/').trim_end_matches(".toml");
        let all =
            self.papers.iter().flat_map(|paper| paper.figures.iter().map(move |f| (paper, f)));
        all.filter(|(paper, figure)| id == paper.name || id == figure.id).collect()
    }
}

fn paper(files: &Files, name: &str, seed: Option<u64>) -> Result<Paper, CatalogueError> {
    let about: About = parse(files, &format!("{name}/paper.toml"))?;
    let figure = |file: &String| figure::read(files, name, file, seed);
    let figures = about.figures.iter().map(figure).collect::<Result<_, _>>()?;
    let elsewhere = elsewhere::read(files, name)?;
    let questions = future_work::read(files, name)?;
    Ok(Paper { name: name.to_owned(), about, figures, elsewhere, questions })
}

/// Reads a file as TOML, if there is one.
pub(crate) fn parse_if_there<T: DeserializeOwned + Default>(
    files: &Files,
    path: &str,
) -> Result<T, CatalogueError> {
    if files.has(path) { parse(files, path) } else { Ok(T::default()) }
}

/// Reads a file as TOML.
pub(crate) fn parse<T: DeserializeOwned>(files: &Files, path: &str) -> Result<T, CatalogueError> {
    let text = files.text(path)?;
    toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| text[..span.start].lines().count().max(1));
        let file = line.map_or_else(|| path.to_owned(), |line| format!("{path}:{line}"));
        CatalogueError::content(file, error.message().replace('\n', " "))
    })
}
