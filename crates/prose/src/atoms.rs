//! The pieces between which a line may break: words, and whole spans of code.

/// Divides text at its spaces, but not within code spans. Text whose backticks are not balanced has
/// none.
pub(crate) fn atoms(text: &str) -> Vec<String> {
    let balanced = text.matches('`').count().is_multiple_of(2);
    let mut atoms: Vec<String> = Vec::new();
    let mut in_code = false;
    for word in text.split_whitespace() {
        match atoms.last_mut() {
            Some(last) if in_code => {
                last.push(' ');
                last.push_str(word);
            }
            _ => atoms.push(word.to_owned()),
        }
        in_code ^= balanced && word.matches('`').count() % 2 == 1;
    }
    atoms
}

/// Divides text where a line may break. A word that would be structure at the beginning of a line
/// stays with the one before it.
pub(crate) fn breakable(text: &str) -> Vec<String> {
    let mut glued: Vec<String> = Vec::new();
    for atom in atoms(text) {
        match glued.last_mut() {
            Some(last)
                if is_structure(&atom) || list_marker(&atom).is_some() || is_label(&atom) =>
            {
                last.push(' ');
                last.push_str(&atom);
            }
            _ => glued.push(atom),
        }
    }
    glued
}

/// Whether a line that begins so is no running text: a heading, a row of a table, a quotation, a
/// fence, a reference.
pub(crate) fn is_structure(line: &str) -> bool {
    let tag = line.strip_prefix('<').is_some_and(|rest| {
        !rest.starts_with("http")
            && rest.starts_with(|c: char| c.is_alphabetic() || "!/".contains(c))
    });
    let target = line.strip_prefix('[').and_then(|rest| rest.split_once("]:"));
    let reference = target.is_some_and(|(_, target)| !target.trim().contains(' '));
    let rule =
        line.len() >= 3 && ["-", "=", "*", "_"].iter().any(|c| line.replace(c, "").is_empty());
    let fence = line.starts_with("```") || line.starts_with("~~~");
    line.starts_with(['#', '|', '>']) || tag || reference || rule || fence
}

/// The marker of a list's item, with the space behind it: `- ` or `12. `.
pub(crate) fn list_marker(line: &str) -> Option<&str> {
    let bullet = usize::from(line.starts_with(['-', '*', '+']));
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let length = match digits {
        0 => bullet,
        1..=3 if line[digits..].starts_with(['.', ')']) => digits + 1,
        _ => 0,
    };
    let rest = &line[length..];
    let spaces = rest.len() - rest.trim_start_matches(' ').len();
    (length > 0 && (rest.is_empty() || spaces > 0)).then(|| &line[..length + spaces])
}

/// Whether a line begins with a label, such as `SAFETY:`.
pub(crate) fn is_label(line: &str) -> bool {
    let capitals = line.bytes().take_while(u8::is_ascii_uppercase).count();
    capitals >= 3 && line[capitals..].starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_spans_are_whole() {
        assert_eq!(atoms("a  `b c d`, e"), ["a", "`b c d`,", "e"]);
        assert_eq!(atoms("a `b c"), ["a", "`b", "c"]);
    }

    #[test]
    fn no_line_begins_with_structure() {
        assert_eq!(breakable("a - b"), ["a -", "b"]);
        assert_eq!(
            breakable("in 2012. See #4, SAFETY: | x"),
            ["in", "2012.", "See #4, SAFETY: |", "x"]
        );
        assert_eq!(breakable("at 12. x"), ["at 12.", "x"]);
    }

    #[test]
    fn structure_is_known() {
        for line in
            ["# a", "| a |", "> a", "```", "[a]: b", "[a b]: c", "[a]:", "---", "<!-- a", "<div>"]
        {
            assert!(is_structure(line), "{line}");
        }
        for line in ["a", "[a](b)", "[a]: b c", "<https://a>", "< 3", "--", ""] {
            assert!(!is_structure(line), "{line}");
        }
        assert_eq!(list_marker("-  a"), Some("-  "));
        assert_eq!(list_marker("12) a"), Some("12) "));
        assert_eq!(list_marker("-1 a"), None);
        assert_eq!(list_marker("2012. a"), None);
        assert_eq!(list_marker("1.5 a"), None);
        assert!(is_label("SAFETY: a") && !is_label("TCP, a") && !is_label("If: a"));
    }
}
