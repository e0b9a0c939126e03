//! The counts of exceptions, for each crate and each document, that may only fall:
//! `crates/prose/ratchet.toml`.

use crate::findings::{Finding, findings};
use crate::rules::Rule;
use crate::tree::{self, Text};
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::process::Command;

/// The file, from the root on.
pub const FILE: &str = "crates/prose/ratchet.toml";

/// The lines above the counts.
const HEAD: &str = "\
# Exceptions to CONTRIBUTING.md's rules for sentences, for each crate; documents have none. They may only fall:
# `cargo run -p bentpipe-prose -- ratchet` writes this file, and raises no number.
";

/// Why the counts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RatchetError {
    /// A file of the tree.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file is not written so.
    #[error("{FILE}: {0}")]
    Format(#[from] toml::de::Error),
}

/// Counts of exceptions, by scope and rule.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts(BTreeMap<String, BTreeMap<String, usize>>);

/// A count that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The crate or document.
    pub scope: String,
    /// The rule's name.
    pub rule: String,
    /// The accepted number.
    pub accepted: usize,
    /// The number in the tree.
    pub found: usize,
}

impl Counts {
    /// Counts findings, which come with their scopes.
    pub fn of<'a>(findings: impl IntoIterator<Item = (&'a str, Rule)>) -> Counts {
        let mut counts = Counts::default();
        for (scope, rule) in findings {
            let rules = counts.0.entry(scope.to_owned()).or_default();
            *rules.entry(rule.name().to_owned()).or_default() += 1;
        }
        counts
    }

    /// Reads the file's text.
    ///
    /// # Errors
    /// It is no TOML, or has no counts.
    pub fn parse(text: &str) -> Result<Counts, toml::de::Error> {
        Ok(Counts(toml::from_str(text)?))
    }

    /// The file's text.
    pub fn text(&self) -> String {
        let mut text = HEAD.to_owned();
        for (scope, rules) in &self.0 {
            let name = toml::Value::String(scope.clone());
            let bare = scope.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
            let key = if bare { scope.clone() } else { name.to_string() };
            let counts = rules.iter().map(|(rule, count)| format!("{rule} = {count}"));
            text += &format!("{key} = {{ {} }}\n", counts.collect::<Vec<_>>().join(", "));
        }
        text
    }

    fn get(&self, scope: &str, rule: &str) -> usize {
        self.0.get(scope).and_then(|rules| rules.get(rule)).copied().unwrap_or_default()
    }

    /// The differences between these and `found`.
    pub fn differences(&self, found: &Counts) -> Vec<Difference> {
        let keys = |counts: &Counts| -> Vec<(String, String)> {
            let all = counts.0.iter();
            all.flat_map(|(scope, rules)| rules.keys().map(|rule| (scope.clone(), rule.clone())))
                .collect()
        };
        let mut all = [keys(self), keys(found)].concat();
        all.sort();
        all.dedup();
        let difference = |(scope, rule): (String, String)| {
            let (accepted, found) = (self.get(&scope, &rule), found.get(&scope, &rule));
            Difference { scope, rule, accepted, found }
        };
        all.into_iter().map(difference).filter(|it| it.accepted != it.found).collect()
    }

    /// The smaller of both counts everywhere.
    #[must_use]
    pub fn lowered_to(&self, found: &Counts) -> Counts {
        let mut lowered = found.clone();
        for (scope, rules) in &mut lowered.0 {
            for (rule, count) in rules.iter_mut() {
                *count = self.get(scope, rule).min(*count);
            }
            rules.retain(|_, count| *count > 0);
        }
        lowered.0.retain(|_, rules| !rules.is_empty());
        lowered
    }
}

/// All findings in the tree at `root`, with their scopes.
///
/// # Errors
/// A file cannot be read.
pub fn in_tree(root: &Path) -> io::Result<Vec<(String, Finding)>> {
    let texts = [tree::sources(root)?, tree::documents(root)?].concat();
    let scoped = |text: &Text| {
        let scope = text.scope().to_owned();
        findings(text).into_iter().map(move |finding| (scope.clone(), finding)).collect::<Vec<_>>()
    };
    Ok(texts.iter().flat_map(scoped).collect())
}

/// Compares the tree at `root` with its file; says in words what has to change.
///
/// # Errors
/// [`RatchetError`].
pub fn complaints(root: &Path) -> Result<Vec<String>, RatchetError> {
    let accepted = Counts::parse(&std::fs::read_to_string(root.join(FILE))?)?;
    let all = in_tree(root)?;
    let found = Counts::of(all.iter().map(|(scope, finding)| (scope.as_str(), finding.rule)));
    let complaint = |it: Difference| {
        let Difference { scope, rule, accepted, found } = it;
        if found < accepted {
            let command = "cargo run -p bentpipe-prose -- ratchet";
            return format!(
                "{scope}: {rule}: {found} instead of {accepted}: lower it by `{command}`"
            );
        }
        let own = all.iter().filter(|(s, finding)| *s == scope && finding.rule.name() == rule);
        let places: Vec<&Finding> = own.map(|(_, finding)| finding).collect();
        let new = added(root, &places);
        let listed: Vec<String> = new.iter().map(|finding| format!("  {finding}")).collect();
        format!("{scope}: {rule}: {found}, {accepted} at most\n{}", listed.join("\n"))
    };
    Ok(accepted.differences(&found).into_iter().map(complaint).collect())
}

/// Those findings that there were not when the file was last changed; all of them if git does not
/// say so.
fn added<'a>(root: &Path, found: &[&'a Finding]) -> Vec<&'a Finding> {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let then = git(&["log", "-1", "--format=%H", "--", FILE]).unwrap_or_default();
    let mut before: BTreeMap<&str, Vec<Finding>> = BTreeMap::new();
    let mut new = Vec::new();
    for &finding in found {
        let old = before.entry(&finding.path).or_insert_with(|| {
            let content = git(&["show", &format!("{}:{}", then.trim(), finding.path)]);
            let content = content.unwrap_or_default();
            findings(&Text { path: finding.path.clone(), content })
        });
        let same = |it: &Finding| it.rule == finding.rule && it.sentence == finding.sentence;
        match old.iter().position(same) {
            Some(index) => drop(old.swap_remove(index)),
            None => new.push(finding),
        }
    }
    if new.is_empty() { found.to_vec() } else { new }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> Counts {
        Counts::parse(text).unwrap()
    }

    #[test]
    fn the_file_is_read_as_it_is_written() {
        let text = "core = { long-head = 2, word = 1 }\n\"docs/a.md\" = { long-sentence = 3 }\n";
        assert_eq!(counts(text).text(), format!("{HEAD}{text}"));
    }

    #[test]
    fn counts_only_fall() {
        let accepted = counts("a = { word = 2, long-head = 1 }\nb = { word = 1 }");
        let found = counts("a = { word = 3 }\nb = { word = 1 }\nc = { word = 1 }");
        let differences = accepted.differences(&found);
        let told: Vec<(&str, &str, usize, usize)> = differences
            .iter()
            .map(|it| (it.scope.as_str(), it.rule.as_str(), it.accepted, it.found))
            .collect();
        assert_eq!(told, [("a", "long-head", 1, 0), ("a", "word", 2, 3), ("c", "word", 0, 1)]);
        assert_eq!(accepted.lowered_to(&found), counts("a = { word = 2 }\nb = { word = 1 }"));
    }
}
