//! What is in `papers/`: papers, their figures, their claims, and how near a number has to come.

mod accepted;
mod elsewhere;
mod entry;
mod figure;
mod files;
mod freeze;
mod future_work;
mod layout;
mod live;
mod located;

pub use accepted::{Accepted, AcceptedError};
pub use elsewhere::{Elsewhere, Witness};
pub use entry::{ClaimKind, ClaimMethod, Entry};
pub use figure::{Check, Claim, Figure, Form, Measure, ScenarioPart};
pub use files::Files;
pub use freeze::{Change, frozen};
pub use future_work::Question;
pub use layout::Layout;
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
}

/// All of it.
#[derive(Debug, Clone)]
pub struct Catalogue {
    /// The papers, in the order of `papers.toml`.
    pub papers: Vec<Paper>,
    /// What was changed in what is accepted, since it was frozen.
    pub changes: Vec<Change>,
    files: Files,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Papers {
    papers: Vec<String>,
}

impl Catalogue {
    /// Reads all files.
    ///
    /// # Errors
    /// [`CatalogueError`] for the first thing that is wrong.
    pub fn read(files: Files) -> Result<Catalogue, CatalogueError> {
        let Papers { papers } = parse(&files, "papers.toml")?;
        let papers = papers.iter().map(|name| paper(&files, name)).collect::<Result<_, _>>()?;
        let changes = freeze::changes(&files)?;
        Ok(Catalogue { papers, changes, files })
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

fn paper(files: &Files, name: &str) -> Result<Paper, CatalogueError> {
    let about: About = parse(files, &format!("{name}/paper.toml"))?;
    let figure = |file: &String| figure::read(files, name, file);
    let figures = about.figures.iter().map(figure).collect::<Result<_, _>>()?;
    let elsewhere = elsewhere::read(files, name)?;
    let questions = future_work::read(files, name)?;
    Ok(Paper { name: name.to_owned(), about, figures, elsewhere, questions })
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

impl Paper {
    /// All its claims, by their ids: those of figures and those decided elsewhere.
    pub fn claims(&self) -> BTreeMap<&str, Entry> {
        let figures = self.figures.iter().flat_map(|figure| &figure.claims);
        let elsewhere = self.elsewhere.iter().map(|(id, at)| (id.as_str(), at.entry));
        figures.map(|claim| (claim.id.as_str(), claim.entry)).chain(elsewhere).collect()
    }
}
