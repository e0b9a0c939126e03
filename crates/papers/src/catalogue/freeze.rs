//! What is accepted was frozen. A change since then is in a list with its reason, so that a reader
//! of a verdict knows how it came about. `papers/frozen.toml`.

use super::{Catalogue, CatalogueError, Files, parse};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;

/// A tolerance that was changed.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Change {
    /// The claim.
    pub id: String,
    /// The number.
    pub number: String,
    /// What it was; nothing if the number is new.
    #[serde(default)]
    pub old: Option<String>,
    /// What it is now; nothing if the number was removed.
    #[serde(default)]
    pub new: Option<String>,
    /// Why.
    pub reason: String,
    /// The verdict before.
    pub verdict_before: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Frozen {
    /// The digest of what was accepted when it was frozen, but for those of papers that came later.
    digest: String,
    /// The same of papers that came later, by what their claims' ids begin with.
    #[serde(default)]
    later: BTreeMap<String, String>,
    /// Oldest first.
    #[serde(default)]
    change: Vec<Change>,
}

const FILE: &str = "frozen.toml";

/// What was changed, oldest first.
pub(super) fn changes(files: &Files) -> Result<Vec<Change>, CatalogueError> {
    Ok(parse::<Frozen>(files, FILE)?.change)
}

/// Whether the tolerances are those that were frozen, but for the changes that are listed. If not,
/// why.
///
/// # Errors
/// A sentence.
pub fn frozen(catalogue: &Catalogue) -> Result<(), String> {
    let frozen: Frozen = parse(catalogue.files(), FILE).map_err(|error| error.to_string())?;
    let mut numbers = texts(catalogue);
    for change in frozen.change.iter().rev() {
        let key = (change.id.clone(), change.number.clone());
        let now = numbers.remove(&key);
        if now != change.new {
            return Err(format!("{} {}: the list of changes says otherwise", key.0, key.1));
        }
        if let Some(old) = &change.old {
            numbers.insert(key, old.clone());
        }
    }
    let later = |id: &str| id.split_once('-').and_then(|(prefix, _)| frozen.later.get(prefix));
    let mut papers = BTreeMap::from([(&frozen.digest, BTreeMap::new())]);
    papers.extend(frozen.later.values().map(|digest| (digest, BTreeMap::new())));
    for (key, text) in numbers {
        let digest = later(&key.0).unwrap_or(&frozen.digest);
        papers.entry(digest).or_default().insert(key, text);
    }
    for (frozen, numbers) in papers {
        let digest = of(&numbers);
        if digest != *frozen {
            return Err(format!(
                "what is accepted is not what was frozen, and frozen.toml lists no such change ({digest} for {frozen})"
            ));
        }
    }
    Ok(())
}

/// What is accepted, by claim and number, as it is written.
fn texts(catalogue: &Catalogue) -> BTreeMap<(String, String), String> {
    let figures = catalogue.papers.iter().flat_map(|paper| &paper.figures);
    let claims = figures.flat_map(|figure| &figure.claims);
    let numbers = claims.flat_map(|claim| {
        let numbers = claim.accepted.iter();
        numbers.map(|(name, accepted)| ((claim.id.clone(), name.clone()), accepted.to_string()))
    });
    numbers.collect()
}

/// The SHA-256 of all, in hexadecimal. Comments and order do not count.
fn of(numbers: &BTreeMap<(String, String), String>) -> String {
    let mut digest = Sha256::new();
    for ((id, number), text) in numbers {
        digest.update(format!("{id}\t{number}\t{text}\n"));
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
