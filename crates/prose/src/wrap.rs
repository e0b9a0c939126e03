//! Comments wrapped at the width of the code.
//!
//! Paragraphs with a line that is too long are filled again; all others stay as they are. A
//! paragraph is running text of one indentation; an item of a list has a hanging indent. Code,
//! tables, headings, references and drawings stay.

mod block;

use crate::comments::{Comment, comments};
use std::collections::BTreeMap;

/// The width to which rustfmt.toml holds the code.
pub const WIDTH: usize = 100;

/// Wraps a source's comments at `width` columns.
///
/// Comments behind code stay: rustfmt's width is theirs, too.
pub fn wrap(source: &str, width: usize) -> String {
    let found = comments(source);
    let alone: BTreeMap<usize, &Comment<'_>> =
        found.iter().filter(|comment| comment.alone).map(|it| (it.line, it)).collect();
    let mut out: Vec<String> = Vec::new();
    let mut open: Option<(String, Vec<&str>)> = None;
    for (index, line) in source.split('\n').enumerate() {
        let comment = alone.get(&(index + 1)).map(|comment| {
            let indent = &line[..line.len() - line.trim_start().len()];
            let marker = comment.marker();
            (format!("{indent}{marker}"), comment.text[marker.len()..].trim_end())
        });
        if let (Some((prefix, said)), Some((open_prefix, lines))) = (&comment, &mut open)
            && prefix == open_prefix
        {
            lines.push(said);
            continue;
        }
        if let Some((prefix, lines)) = open.take() {
            out.extend(block::wrap(&prefix, &lines, width));
        }
        match comment {
            Some((prefix, said)) => open = Some((prefix, vec![said])),
            None => out.push(line.to_owned()),
        }
    }
    if let Some((prefix, lines)) = open {
        out.extend(block::wrap(&prefix, &lines, width));
    }
    out.join("\n")
}
