//! A source file, and what mutants make of its functions.

use crate::functions::{Function, functions};
use crate::mutant::Change;
use crate::tokens::Tokens;
use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::Path;
use syn::Block;
use thiserror::Error;

/// What is wrong with a mutant.
#[derive(Debug, Error)]
pub(crate) enum Flaw {
    /// The file is not there.
    #[error("there is no {0}")]
    NoFile(String),
    /// It is of no library: nothing chooses there.
    #[error("{0} is of no library")]
    NoLibrary(String),
    /// The function is not there.
    #[error("{file} has no function `{function}`")]
    NoFunction { file: String, function: String },
    /// The old text is not there.
    #[error("`{function}` has no `{old}`")]
    NotThere { function: String, old: String },
    /// It is there, but which one is meant?
    #[error("`{function}` has `{old}` {times} times")]
    Ambiguous { function: String, old: String, times: usize },
    /// The file cannot be parsed.
    #[error("{file}: {error}")]
    NoSource { file: String, error: syn::Error },
    /// Brackets have no other half, for one.
    #[error("its texts are no tokens of Rust: `{0}`")]
    NoTokens(String),
    /// Two changes are of the same text.
    #[error("its changes of `{0}` overlap")]
    Overlap(String),
    /// All is as it was.
    #[error("it changes nothing")]
    NoChange,
    /// What is made of a function cannot be parsed.
    #[error("it makes of `{function}` what is no Rust: {error}")]
    NoRust { function: String, error: syn::Error },
    /// Which mutant it is cannot be chosen when the function runs.
    #[error("`{0}` is const or returns impl: choose a function that it calls")]
    Fixed(String),
}

impl Flaw {
    /// Whether the tree has changed since the mutant was written.
    pub(crate) fn is_stale(&self) -> bool {
        matches!(
            self,
            Flaw::NoFile(_)
                | Flaw::NoFunction { .. }
                | Flaw::NotThere { .. }
                | Flaw::Ambiguous { .. }
        )
    }
}

/// A file of Rust.
pub(crate) struct Source {
    pub(crate) text: String,
    pub(crate) functions: Vec<Function>,
}

/// What a mutant puts in the place of some bytes.
struct Edit<'a> {
    bytes: Range<usize>,
    new: &'a str,
}

impl Source {
    /// Reads `file` of the tree at `root`.
    ///
    /// # Errors
    /// It is not there, or no Rust.
    pub(crate) fn read(root: &Path, file: &str) -> Result<Source, Flaw> {
        let text =
            fs::read_to_string(root.join(file)).map_err(|_| Flaw::NoFile(file.to_owned()))?;
        Source::parse(text).map_err(|error| Flaw::NoSource { file: file.to_owned(), error })
    }

    /// Finds the functions of a file whose text is `text`.
    pub(crate) fn parse(text: String) -> syn::Result<Source> {
        Ok(Source { functions: functions(&text)?, text })
    }

    /// The bodies that a mutant's `changes` of this file leave, by their functions' places in
    /// `functions`.
    ///
    /// # Errors
    /// One does not apply, or what is left makes no sense.
    pub(crate) fn changed(&self, changes: &[&Change]) -> Result<BTreeMap<usize, String>, Flaw> {
        let mut edits: BTreeMap<usize, Vec<Edit>> = BTreeMap::new();
        for change in changes {
            let (function, bytes) = self.locate(change)?;
            edits.entry(function).or_default().push(Edit { bytes, new: &change.new });
        }
        edits.into_iter().map(|(id, edits)| Ok((id, self.body(id, edits)?))).collect()
    }

    /// The one function in which `change` has its old text, and where in its body. Two may have the
    /// same path, in two implementations of a generic trait.
    fn locate(&self, change: &Change) -> Result<(usize, Range<usize>), Flaw> {
        let Change { file, function, old, new } = change;
        let (old_tokens, new_tokens) = (tokens(old)?, tokens(new)?);
        if old_tokens == new_tokens {
            return Err(Flaw::NoChange);
        }
        let mut known = false;
        let mut places = Vec::new();
        for (id, candidate) in self.functions.iter().enumerate() {
            if candidate.path == *function {
                known = true;
                let body = tokens(&self.text[candidate.body.clone()])?;
                places.extend(body.find(&old_tokens).into_iter().map(|bytes| (id, bytes)));
            }
        }
        let (function, old) = (function.clone(), line(old));
        match <[_; 1]>::try_from(places) {
            Ok([(id, _)]) if !self.functions[id].chooses => Err(Flaw::Fixed(function)),
            Ok([place]) => Ok(place),
            Err(_) if !known => Err(Flaw::NoFunction { file: file.clone(), function }),
            Err(places) if places.is_empty() => Err(Flaw::NotThere { function, old }),
            Err(places) => Err(Flaw::Ambiguous { function, old, times: places.len() }),
        }
    }

    /// A function's body as `edits` leave it.
    fn body(&self, id: usize, mut edits: Vec<Edit>) -> Result<String, Flaw> {
        let Function { path, body, .. } = &self.functions[id];
        let mut text = self.text[body.clone()].to_owned();
        edits.sort_by_key(|edit| edit.bytes.start);
        if edits.windows(2).any(|pair| pair[0].bytes.end > pair[1].bytes.start) {
            return Err(Flaw::Overlap(path.clone()));
        }
        for Edit { bytes, new } in edits.into_iter().rev() {
            text.replace_range(bytes, new.trim());
        }
        match syn::parse_str::<Block>(&text) {
            Ok(_) => Ok(text),
            Err(error) => Err(Flaw::NoRust { function: path.clone(), error }),
        }
    }
}

fn tokens(text: &str) -> Result<Tokens, Flaw> {
    Tokens::of(text).map_err(|_| Flaw::NoTokens(line(text)))
}

/// `text` on one line.
fn line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "
        impl From<u8> for Rate { fn from(n: u8) -> Rate { Rate(n) } }
        impl From<u16> for Rate { fn from(n: u16) -> Rate { Rate(n / 2) } }
        const fn zero() -> u8 { 0 }
        fn doubled(n: u8) -> u8 {
            // n + 1
            let n = n
                + n;
            n
        }
    ";

    /// What a change makes of a function, or why it makes nothing.
    fn change(function: &str, old: &str, new: &str) -> Result<String, String> {
        let [file, function, old, new] = ["lib.rs", function, old, new].map(str::to_owned);
        let source = Source::parse(TEXT.to_owned()).unwrap();
        let changed = source.changed(&[&Change { file, function, old, new }]);
        let mut bodies = changed.map_err(|flaw| flaw.to_string())?.into_values();
        Ok(line(&bodies.next().unwrap()))
    }

    #[test]
    fn the_new_text_takes_the_place_of_the_old_one() {
        let expected = "{ // n + 1 let n = n * 3; n }";
        assert_eq!(change("doubled", "n + n", "n * 3").unwrap(), expected);
    }

    #[test]
    fn of_two_with_the_same_path_the_one_that_has_the_text_is_meant() {
        assert_eq!(change("Rate::from", "n / 2", "n / 3").unwrap(), "{ Rate(n / 3) }");
    }

    #[test]
    fn what_is_not_there_once_is_a_flaw() {
        let flaws = [
            ("trebled", "n", "1", "lib.rs has no function `trebled`"),
            ("doubled", "n + 1", "1", "`doubled` has no `n + 1`"),
            ("Rate::from", "Rate", "Rate::new", "`Rate::from` has `Rate` 2 times"),
        ];
        for (function, old, new, flaw) in flaws {
            assert_eq!(change(function, old, new).unwrap_err(), flaw);
        }
    }

    #[test]
    fn what_makes_no_sense_is_a_flaw() {
        let fixed = "`zero` is const or returns impl: choose a function that it calls";
        let flaws = [
            ("doubled", "n + n", "n\n+ n", "it changes nothing"),
            ("doubled", "{ let", "let", "its texts are no tokens of Rust: `{ let`"),
            ("zero", "0", "1", fixed),
        ];
        for (function, old, new, flaw) in flaws {
            assert_eq!(change(function, old, new).unwrap_err(), flaw);
        }
        let flaw = change("doubled", "n + n", "n +").unwrap_err();
        assert!(flaw.starts_with("it makes of `doubled` what is no Rust: "), "{flaw}");
    }
}
