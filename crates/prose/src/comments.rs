//! The comments of a Rust source, apart from strings that look like comments.

/// A comment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comment<'a> {
    /// Its first line, from 1 on.
    pub(crate) line: usize,
    /// The comment from its slashes on.
    pub(crate) text: &'a str,
    /// Whether it is a line comment that has its line to itself.
    pub(crate) alone: bool,
}

impl Comment<'_> {
    /// The slashes that say of which kind it is.
    pub(crate) fn marker(&self) -> &'static str {
        match self.text.as_bytes() {
            [_, _, b'!', ..] => "//!",
            [_, _, b'/', b'/', ..] => "//",
            [_, _, b'/', ..] => "///",
            _ => "//",
        }
    }
}

/// Finds all comments, in their order.
pub(crate) fn comments(source: &str) -> Vec<Comment<'_>> {
    let mut found = Vec::new();
    let (mut at, mut line, mut line_start) = (0, 1, 0);
    while let Some(next) = source[at..].chars().next() {
        let rest = &source[at..];
        let alone = rest.starts_with("//") && source[line_start..at].trim().is_empty();
        let length = if let Some(length) = line_comment(rest).or_else(|| block_comment(rest)) {
            found.push(Comment { line, text: &rest[..length], alone });
            length
        } else if let Some(length) = raw_string(rest) {
            length
        } else if next == '"' {
            quoted(rest, '"')
        } else if next == '\'' {
            character(rest)
        } else if is_word(next) {
            rest.find(|c| !is_word(c)).unwrap_or(rest.len())
        } else {
            next.len_utf8()
        };
        let passed = &rest[..length];
        line += passed.matches('\n').count();
        line_start = passed.rfind('\n').map_or(line_start, |newline| at + newline + 1);
        at += length;
    }
    found
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn line_comment(rest: &str) -> Option<usize> {
    rest.starts_with("//").then(|| rest.find('\n').unwrap_or(rest.len()))
}

/// The length of a block comment, with those inside.
fn block_comment(rest: &str) -> Option<usize> {
    if !rest.starts_with("/*") {
        return None;
    }
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        let step = match &rest.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            return Some(at);
        }
    }
    Some(rest.len())
}

/// The length of a raw string: `r"…"`, `br#"…"#`.
fn raw_string(rest: &str) -> Option<usize> {
    let opening = ["r", "br", "cr"].iter().find_map(|prefix| rest.strip_prefix(prefix))?;
    let hashes = opening.len() - opening.trim_start_matches('#').len();
    let inner = opening[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let before = rest.len() - inner.len();
    Some(inner.find(&end).map_or(rest.len(), |at| before + at + end.len()))
}

/// The length of a string up to its closing quote.
fn quoted(rest: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        if !escaped && c == quote {
            return at + 1;
        }
        escaped = !escaped && c == '\\';
    }
    rest.len()
}

/// The length of a character in quotes, or of the quote alone if it begins a lifetime.
fn character(rest: &str) -> usize {
    let mut inner = rest.chars().skip(1);
    match (inner.next(), inner.next()) {
        (Some('\\'), _) | (Some(_), Some('\'')) => quoted(rest, '\''),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(source: &str) -> Vec<(usize, &str, bool)> {
        comments(source).iter().map(|it| (it.line, it.text, it.alone)).collect()
    }

    #[test]
    fn comments_have_their_lines() {
        let source = "//! a\nlet b = 1; // c\n    /// d\n/* e /* f */\n g */ // h\n";
        assert_eq!(
            texts(source),
            [
                (1, "//! a", true),
                (2, "// c", false),
                (3, "/// d", true),
                (4, "/* e /* f */\n g */", false),
                (5, "// h", false)
            ]
        );
    }

    #[test]
    fn strings_are_no_comments() {
        let source =
            "let a = \"\n// b \\\" // c\n\"; let d = r#\"\n// e \" // f\n\"#; // g\nfor\"//\"";
        assert_eq!(texts(source), [(5, "// g", false)]);
        let quotes = "let a = '\"'; // b\nlet c: &'static str = \"//\"; // d\nlet e = '\\''; // f";
        assert_eq!(texts(quotes), [(1, "// b", false), (2, "// d", false), (3, "// f", false)]);
        assert_eq!(texts("let r#type = 'r'; // a"), [(1, "// a", false)]);
    }

    #[test]
    fn markers_say_the_kind() {
        for (text, marker) in
            [("//", "//"), ("// a", "//"), ("//! a", "//!"), ("/// a", "///"), ("////", "//")]
        {
            assert_eq!(comments(text)[0].marker(), marker, "{text}");
        }
    }
}
