//! A block of comments with the same indentation and marker, in paragraphs.

use crate::atoms::{breakable, is_label, is_structure, list_marker};

/// Running text, or an item of a list, that is filled as a whole.
#[derive(Debug)]
struct Paragraph<'a> {
    /// Spaces before its first line, and the item's marker if it is one.
    lead: String,
    /// Spaces before its other lines.
    hang: usize,
    /// Its lines, without those spaces.
    lines: Vec<&'a str>,
    /// The same as they are written, behind the comment's marker.
    written: Vec<&'a str>,
}

impl<'a> Paragraph<'a> {
    fn new(indent: usize, body: &'a str, written: &'a str) -> Paragraph<'a> {
        let marker = list_marker(body).unwrap_or_default();
        Paragraph {
            lead: format!("{}{marker}", " ".repeat(indent)),
            hang: indent + marker.len(),
            lines: vec![&body[marker.len()..]],
            written: vec![written],
        }
    }

    fn is_item(&self) -> bool {
        !self.lead.trim().is_empty()
    }

    /// Whether a line of this indentation belongs to it.
    fn continues(&self, indent: usize) -> bool {
        let least = self.lead.len() - self.lead.trim_start().len();
        if self.is_item() { indent > least && indent <= self.hang + 3 } else { indent == self.hang }
    }

    /// Its lines, filled where one is too long.
    fn wrapped(&self, prefix: &str, width: usize) -> Vec<String> {
        let mut out = Vec::new();
        let mut begin = 0;
        for end in 1..=self.lines.len() {
            if end < self.lines.len() && !self.ends_at(end, prefix, width) {
                continue;
            }
            let written = &self.written[begin..end];
            let segment = &self.lines[begin..end];
            let too_long = |(line, written): (&&str, &&str)| {
                columns(prefix) + columns(written) > width && breakable(line).len() > 1
            };
            if segment.iter().zip(written).any(too_long) {
                let hang = " ".repeat(self.hang);
                let first = if begin == 0 { &self.lead } else { &hang };
                out.extend(fill(
                    segment,
                    &format!("{prefix} {first}"),
                    &format!("{prefix} {hang}"),
                    width,
                ));
            } else {
                out.extend(written.iter().map(|line| format!("{prefix}{line}")));
            }
            begin = end;
        }
        out
    }

    /// Whether the line break before line `next` is meant: a sentence ends, and there was room for
    /// more.
    fn ends_at(&self, next: usize, prefix: &str, width: usize) -> bool {
        let ends = self.lines[next - 1].ends_with(['.', ':', ';', '!', '?', '\\']);
        let following = breakable(self.lines[next]).first().map_or(0, |atom| columns(atom));
        ends && columns(prefix) + columns(self.written[next - 1]) + 1 + following <= width
    }
}

/// Wraps what stands behind the markers of a block's lines; the result has the prefix.
pub(super) fn wrap(prefix: &str, lines: &[&str], width: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut open: Option<Paragraph<'_>> = None;
    let mut fence: Option<&str> = None;
    for &written in lines {
        let body = written.trim_start();
        let delimiter = ["```", "~~~"].into_iter().find(|it| body.starts_with(it));
        let in_code = fence.is_some() || delimiter.is_some();
        match (fence, delimiter) {
            (None, _) => fence = delimiter,
            (Some(opened), Some(it)) if opened == it => fence = None,
            _ => {}
        }
        let begins = list_marker(body).is_some() || is_label(body);
        // One space is the comment's own.
        let indent = (written.len() - body.len()).checked_sub(1);
        let indent = indent.filter(|_| !in_code && !is_kept(body));
        if let (Some(indent), Some(paragraph)) = (indent, &mut open)
            && !begins
            && paragraph.continues(indent)
        {
            paragraph.lines.push(body);
            paragraph.written.push(written);
            continue;
        }
        let in_list = open.as_ref().is_some_and(Paragraph::is_item);
        if let Some(paragraph) = open.take() {
            out.extend(paragraph.wrapped(prefix, width));
        }
        match indent {
            Some(indent) if indent < 4 || (in_list && begins) => {
                open = Some(Paragraph::new(indent, body, written));
            }
            _ => out.push(format!("{prefix}{written}")),
        }
    }
    if let Some(paragraph) = open {
        out.extend(paragraph.wrapped(prefix, width));
    }
    out
}

/// Whether a line stays as it is: structure, a drawing, or nothing.
fn is_kept(body: &str) -> bool {
    let drawn = body.contains("   ") || body.contains(|c| ('\u{2500}'..='\u{25ff}').contains(&c));
    body.is_empty() || is_structure(body) || drawn
}

/// Fills lines with the words of `text`.
fn fill(text: &[&str], first: &str, others: &str, width: usize) -> Vec<String> {
    let mut filled = Vec::new();
    let mut line = first.to_owned();
    let mut is_empty = true;
    for atom in breakable(&text.join(" ")) {
        if !is_empty && columns(&line) + 1 + columns(&atom) > width {
            filled.push(std::mem::replace(&mut line, others.to_owned()));
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(&atom);
        is_empty = false;
    }
    filled.push(line);
    filled
}

fn columns(text: &str) -> usize {
    text.chars().count()
}

#[cfg(test)]
mod tests {
    use crate::wrap::wrap;

    #[track_caller]
    fn wraps(source: &str, width: usize, expected: &str) {
        assert_eq!(wrap(source, width), expected);
        assert_eq!(wrap(expected, width), expected, "once more");
    }

    #[test]
    fn a_paragraph_is_filled() {
        wraps("// aa bb cc dd\n// ee", 11, "// aa bb cc\n// dd ee");
        wraps(
            "    /// aa bb cc\n    fn x() {}",
            12,
            "    /// aa\n    /// bb\n    /// cc\n    fn x() {}",
        );
        wraps("//! aa bb cc\n//!\n//! dd", 9, "//! aa bb\n//! cc\n//!\n//! dd");
        // One that is narrow enough stays as it is.
        wraps("// aa\n// bb\n//\n// cc dd ee", 10, "// aa\n// bb\n//\n// cc dd\n// ee");
    }

    #[test]
    fn markers_and_indentation_part_paragraphs() {
        wraps("// aa bb cc\n/// dd", 8, "// aa bb\n// cc\n/// dd");
        wraps("// aa bb cc\n//  dd", 8, "// aa bb\n// cc\n//  dd");
    }

    #[test]
    fn items_hang() {
        wraps("// - aa bb cc\n//   dd\n// - ee", 10, "// - aa bb\n//   cc dd\n// - ee");
        wraps("// 1. aa bb cc\n//    dd", 11, "// 1. aa bb\n//    cc dd");
        wraps("// - aa\n//   - bb cc dd", 12, "// - aa\n//   - bb cc\n//     dd");
        // A line that does not hang is a paragraph of its own.
        wraps("// - aa bb cc\n// dd", 10, "// - aa bb\n//   cc\n// dd");
    }

    #[test]
    fn code_tables_drawings_and_references_stay() {
        for kept in [
            "/// ```\n/// aa bb cc dd ee\n/// # hidden ee ff\n/// ```",
            "/// ```text\n/// ~~~\n/// aa bb cc dd\n/// ```",
            "///     aa bb cc dd",
            "// | aa | bb | cc |",
            "// # aa bb cc dd",
            "// a -->   b -->   c",
            "// ┌──┐ aa bb cc",
            "/// [aa]: bb::cc::dd::ee",
            "//aa bb cc dd ee",
            "let a = 1; // bb cc dd ee",
            "let a = \"\n// bb cc dd ee\n\";",
            "// https://example.org/longer",
            "// `aa bb cc dd`",
        ] {
            wraps(kept, 10, kept);
        }
        wraps("// aa bb cc\n// ```\n// dd\n// ```", 8, "// aa bb\n// cc\n// ```\n// dd\n// ```");
    }

    #[test]
    fn ends_of_paragraphs_stay_ends() {
        wraps("// SAFETY: aa bb cc\n// dd", 13, "// SAFETY: aa\n// bb cc dd");
        wraps("// aa\n// SAFETY: bb cc", 13, "// aa\n// SAFETY: bb\n// cc");
        // There was room for `bb`: the break is meant.
        wraps("// aa.\n// bb cc dd ee", 12, "// aa.\n// bb cc dd\n// ee");
        wraps("// aa bb cc.\n// dd ee ff gg", 13, "// aa bb cc.\n// dd ee ff\n// gg");
    }

    #[test]
    fn no_line_becomes_structure() {
        wraps("// aa - bb", 8, "// aa -\n// bb");
        wraps("// aa 1. bb", 8, "// aa 1.\n// bb");
        wraps("// aa bb `cc dd` ee", 9, "// aa bb\n// `cc dd`\n// ee");
    }

    #[test]
    fn what_cannot_be_broken_has_a_line_of_its_own() {
        wraps("// aa https://example.org bb", 12, "// aa\n// https://example.org\n// bb");
        wraps("// - https://example.org bb", 12, "// - https://example.org\n//   bb");
    }
}
