//! The tree's sources, and what mutants make of them.

use crate::mutant::{Change, Mutant};
use crate::source::{Flaw, Source};
use crate::woven::{Body, MODULE, MODULE_TEXT, Woven};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::Path;

/// A function that a mutant changes.
struct Mutated {
    file: String,
    /// Its place in the source's list.
    function: usize,
    /// Its body then.
    body: String,
}

/// The sources with mutants, and what each of these changes. A mutant's number is its place in the
/// list.
pub(crate) struct Program<'a> {
    root: &'a Path,
    sources: BTreeMap<String, Source>,
    mutants: Vec<Result<Vec<Mutated>, Flaw>>,
}

impl<'a> Program<'a> {
    /// Applies each of `mutants` to the tree at `root`.
    pub(crate) fn new(root: &'a Path, mutants: &[Mutant]) -> Program<'a> {
        let mut program = Program { root, sources: BTreeMap::new(), mutants: Vec::new() };
        for mutant in mutants {
            let mutated = program.apply(mutant);
            program.mutants.push(mutated);
        }
        program
    }

    fn apply(&mut self, mutant: &Mutant) -> Result<Vec<Mutated>, Flaw> {
        let mut changes: BTreeMap<&String, Vec<&Change>> = BTreeMap::new();
        for change in &mutant.changes {
            changes.entry(&change.file).or_default().push(change);
        }
        let mut mutated = Vec::new();
        for (file, changes) in changes {
            if !self.sources.contains_key(file) {
                let source = Source::read(self.root, file)?;
                if !self.root.join(library(crate_of(file))).exists() {
                    return Err(Flaw::NoLibrary(file.clone()));
                }
                self.sources.insert(file.clone(), source);
            }
            for (function, body) in self.sources[file].changed(&changes)? {
                mutated.push(Mutated { file: file.clone(), function, body });
            }
        }
        Ok(mutated)
    }

    /// Why a mutant cannot be tried, if it cannot.
    pub(crate) fn flaw(&self, mutant: usize) -> Option<&Flaw> {
        self.mutants[mutant].as_ref().err()
    }

    /// The folders of the crates that a mutant changes.
    pub(crate) fn crates_of(&self, mutant: usize) -> BTreeSet<&str> {
        let mutated = self.mutants[mutant].iter().flatten();
        mutated.map(|mutated| crate_of(&mutated.file)).collect()
    }

    /// The folders of all that one changes.
    pub(crate) fn crates(&self) -> BTreeSet<&str> {
        (0..self.mutants.len()).flat_map(|mutant| self.crates_of(mutant)).collect()
    }

    /// The files of the copy that are not as in the tree, with all mutants but those that do not
    /// compile.
    ///
    /// # Errors
    /// A crate of theirs is no library, or cannot be read.
    pub(crate) fn weave(
        &self,
        broken: &BTreeMap<usize, String>,
    ) -> io::Result<BTreeMap<String, Woven>> {
        let mut bodies: BTreeMap<&String, BTreeMap<usize, Vec<Body>>> = BTreeMap::new();
        for (number, mutated) in self.mutants.iter().enumerate() {
            for Mutated { file, function, body } in mutated.iter().flatten() {
                if !broken.contains_key(&number) {
                    let bodies = bodies.entry(file).or_default().entry(*function).or_default();
                    bodies.push(Body { mutant: number, text: body });
                }
            }
        }
        let woven = bodies.iter();
        let mut woven: BTreeMap<String, Woven> = woven
            .map(|(file, bodies)| (file.to_string(), Woven::new(&self.sources[*file], bodies)))
            .collect();
        for folder in bodies.keys().map(|file| crate_of(file)).collect::<BTreeSet<_>>() {
            self.add_module(folder, &mut woven)?;
        }
        Ok(woven)
    }

    /// Adds the module that chooses to the crate in `folder`.
    fn add_module(&self, folder: &str, woven: &mut BTreeMap<String, Woven>) -> io::Result<()> {
        let root = library(folder);
        if !woven.contains_key(&root) {
            let text = fs::read_to_string(self.root.join(&root))?;
            woven.insert(root.clone(), Woven::plain(text));
        }
        if let Some(root) = woven.get_mut(&root) {
            root.text.push_str(&format!("mod {MODULE};\n"));
        }
        let module = format!("{folder}/src/{MODULE}.rs");
        woven.insert(module, Woven::plain(MODULE_TEXT.to_owned()));
        Ok(())
    }
}

/// The file in which the library in `folder` begins.
fn library(folder: &str) -> String {
    format!("{folder}/src/lib.rs")
}

/// The folder of the crate that `file` is of.
fn crate_of(file: &str) -> &str {
    file.split_once("/src/").map_or(file, |(folder, _)| folder)
}
