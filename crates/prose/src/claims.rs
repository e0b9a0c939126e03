//! Ids of the papers' claims, such as `G01-15-a`, in comments and documents.

use crate::comments::comments;
use crate::tree::Text;
use std::collections::BTreeSet;

/// Reads the ids of the claims in a file of `papers/`.
///
/// A figure has tables `[claim."ID"]`; a list of those decided elsewhere has `["ID"]`.
///
/// # Errors
/// It is not TOML.
pub fn ids_in(text: &str) -> Result<BTreeSet<String>, toml::de::Error> {
    let file = text.parse::<toml::Table>()?;
    let claims = file.get("claim").and_then(toml::Value::as_table).unwrap_or(&file);
    let entered = claims.iter().filter(|(_, claim)| claim.get("entry").is_some());
    Ok(entered.map(|(id, _)| id.clone()).collect())
}

/// Finds ids in a text that are not among `known`, with their lines.
pub fn unknown(text: &Text, known: &BTreeSet<String>) -> Vec<(usize, String)> {
    let pieces = if text.is_source() {
        comments(&text.content).iter().map(|it| (it.line, it.text)).collect()
    } else {
        vec![(1, text.content.as_str())]
    };
    let prefixes: BTreeSet<&str> =
        known.iter().filter_map(|id| Some(id.split_once('-')?.0)).collect();
    let lines = pieces.into_iter().flat_map(|(first, piece)| {
        piece.lines().enumerate().map(move |(index, line)| (first + index, line))
    });
    lines
        .flat_map(|(number, line)| {
            ids(line, &prefixes).map(move |id| (number, id)).collect::<Vec<_>>()
        })
        .filter(|(_, id)| !known.contains(*id))
        .map(|(number, id)| (number, id.to_owned()))
        .collect()
}

/// The words of a line that are formed as ids are: a paper's prefix, then parts with a number among
/// them.
fn ids<'a>(line: &'a str, prefixes: &BTreeSet<&str>) -> impl Iterator<Item = &'a str> {
    let words = line.split(|c: char| !(c.is_alphanumeric() || "-._/".contains(c)));
    let words = words.map(|word| word.trim_end_matches(['.', '-']));
    words.filter(move |word| {
        word.split_once('-').is_some_and(|(prefix, rest)| {
            let formed = rest.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit());
            prefixes.contains(prefix) && formed && rest.contains(|c: char| c.is_ascii_digit())
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_looked_up() {
        let figure = "[scenario.x]\n[claim.\"G01-15-a\"]\nentry = 1\nsays = \"\"";
        let elsewhere = "[\"H-4.2-E\"]\nentry = 2";
        let known =
            [figure, elsewhere].into_iter().flat_map(|text| ids_in(text).unwrap()).collect();
        let content =
            "// G01-15-a, G01-15-z (H-4.2-E). H-TCP, S-4-a\nlet a = \"G01-15-y\"; // H-4.2-F.";
        let text = Text { path: "crates/a/src/b.rs".to_owned(), content: content.to_owned() };
        let found = unknown(&text, &known);
        assert_eq!(found, [(1, "G01-15-z".to_owned()), (2, "H-4.2-F".to_owned())]);
    }
}
