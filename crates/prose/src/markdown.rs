//! Markdown as paragraphs of running text; code, tables, quotations and headings are left out.

use crate::atoms::{is_structure, list_marker};

/// Running text between other things.
pub(crate) type Paragraph<'a> = Vec<(usize, &'a str)>;

/// Divides numbered lines into paragraphs; an item of a list is one of its own.
pub(crate) fn paragraphs<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Vec<Paragraph<'a>> {
    let mut all: Vec<Paragraph<'_>> = Vec::new();
    let (mut in_code, mut ended) = (false, true);
    for (number, line) in lines {
        let body = line.trim();
        let fence = body.starts_with("```") || body.starts_with("~~~");
        in_code ^= fence;
        let is_code = fence || in_code || (ended && line.starts_with("     "));
        if is_code || body.is_empty() || is_structure(body) {
            ended = true;
            continue;
        }
        let marker = list_marker(body);
        let body = &body[marker.map_or(0, str::len)..];
        match all.last_mut() {
            Some(paragraph) if !ended && marker.is_none() => paragraph.push((number, body)),
            _ => all.push(vec![(number, body)]),
        }
        ended = false;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_text_is_found() {
        let text = "# A\n\nb\nc\n- d\n  e\n- f\n\n```sh\ng\n```\n| h |\n> i\n\n[j]: k\nl";
        let found = paragraphs(text.lines().enumerate());
        let words: Vec<Vec<&str>> =
            found.iter().map(|it| it.iter().map(|(_, line)| *line).collect()).collect();
        assert_eq!(words, [vec!["b", "c"], vec!["d", "e"], vec!["f"], vec!["l"]]);
        assert_eq!(found[1][1].0, 5);
    }
}
