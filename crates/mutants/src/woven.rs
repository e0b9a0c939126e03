//! A source file with mutants in it: a mutated function has each one's body as well as its own, and
//! runs that of the chosen one.

use crate::source::Source;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::ops::RangeInclusive;

/// What chooses, in each crate with mutants.
pub(crate) const MODULE: &str = "chosen_mutant";

/// Its text.
pub(crate) const MODULE_TEXT: &str = include_str!("chosen_mutant.rs");

/// The variable that it reads.
pub(crate) const VARIABLE: &str = "BENTPIPE_MUTANT";

/// A body that a mutant gives to a function.
pub(crate) struct Body<'a> {
    /// The mutant's number.
    pub(crate) mutant: usize,
    /// The body, braces and all.
    pub(crate) text: &'a str,
}

/// A file of the copy.
#[derive(Default)]
pub(crate) struct Woven {
    /// What is in it.
    pub(crate) text: String,
    /// Which lines are which mutant's.
    lines: Vec<(RangeInclusive<usize>, usize)>,
}

impl Woven {
    /// A file without mutants.
    pub(crate) fn plain(text: String) -> Woven {
        Woven { text, lines: Vec::new() }
    }

    /// Puts into `source` the bodies that mutants give to its functions, by their places there.
    pub(crate) fn new(source: &Source, bodies: &BTreeMap<usize, Vec<Body>>) -> Woven {
        let mut woven = Woven::default();
        let mut copied = 0;
        // In a file, functions follow each other as in the list.
        for (place, bodies) in bodies {
            let own = source.functions[*place].body.clone();
            woven.text.push_str(&source.text[copied..own.start]);
            copied = own.end;
            woven.choose(bodies, &source.text[own]);
        }
        woven.text.push_str(&source.text[copied..]);
        woven
    }

    /// Runs one of `bodies`, or else the function's `own`.
    fn choose(&mut self, bodies: &[Body], own: &str) {
        let _ = writeln!(self.text, "{{ match crate::{MODULE}::chosen() {{");
        for Body { mutant, text } in bodies {
            let first = self.line();
            let _ = writeln!(self.text, "{mutant} => {text}");
            self.lines.push((first..=self.line() - 1, *mutant));
        }
        let _ = write!(self.text, "_ => {own} }} }}");
    }

    /// The number of the line that comes next.
    fn line(&self) -> usize {
        1 + self.text.matches('\n').count()
    }

    /// The mutant that `line` is of.
    pub(crate) fn mutant_at(&self, line: usize) -> Option<usize> {
        self.lines.iter().find(|(lines, _)| lines.contains(&line)).map(|(_, mutant)| *mutant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_has_all_its_bodies() {
        let source = Source::parse("fn one() {}\nfn two() -> u8 {\n    2\n}\n".to_owned()).unwrap();
        let bodies = [(5, "{\n    3\n}"), (7, "{ 4 }")];
        let bodies = bodies.map(|(mutant, text)| Body { mutant, text });
        let woven = Woven::new(&source, &BTreeMap::from([(1, Vec::from(bodies))]));
        let expected = "fn one() {}
fn two() -> u8 { match crate::chosen_mutant::chosen() {
5 => {
    3
}
7 => { 4 }
_ => {
    2
} } }
";
        assert_eq!(woven.text, expected);
        let mutants: Vec<_> = (1..=9).map(|line| woven.mutant_at(line)).collect();
        assert_eq!(mutants, [None, None, Some(5), Some(5), Some(5), Some(7), None, None, None]);
    }
}
