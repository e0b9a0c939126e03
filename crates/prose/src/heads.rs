//! Documentation in sources: of modules, and of public items.

use crate::comments::comments;

/// The lines of a documentation comment, with their numbers and without markers.
pub(crate) type Head<'a> = Vec<(usize, &'a str)>;

/// The documentation of modules and of items that are public without restriction.
pub(crate) fn heads(source: &str) -> Vec<Head<'_>> {
    let lines: Vec<&str> = source.lines().collect();
    let mut all: Vec<(&'static str, Head<'_>)> = Vec::new();
    for comment in comments(source).iter().filter(|comment| comment.alone) {
        let marker = comment.marker();
        if marker == "//" {
            continue;
        }
        let line = (comment.line, &comment.text[marker.len()..]);
        match all.last_mut() {
            Some((open, head))
                if *open == marker && head.last().is_some_and(|it| it.0 + 1 == line.0) =>
            {
                head.push(line);
            }
            _ => all.push((marker, vec![line])),
        }
    }
    let own = |(marker, head): &(&str, Head<'_>)| {
        *marker == "//!" || head.last().is_some_and(|it| is_public(&lines[it.0..]))
    };
    all.into_iter().filter(own).map(|(_, head)| head).collect()
}

/// Whether the item that begins here, behind its attributes, is public.
fn is_public(lines: &[&str]) -> bool {
    let mut depth = 0_usize;
    for line in lines.iter().map(|line| line.trim()) {
        if depth == 0 && !line.starts_with("#[") && !line.starts_with("//") {
            return line.starts_with("pub ");
        }
        if !line.starts_with("//") {
            depth = (depth + line.matches('[').count()).saturating_sub(line.matches(']').count());
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_and_public_items_have_heads() {
        let source = "//! A.\n//!\n//! B.\n\n/// C.\n#[derive(\n  D,\n)]\n// E.\npub struct F {\n    /// G.\n    pub h: u8,\n    /// I.\n    j: u8,\n}\n/// K.\npub(crate) fn l() {}";
        let found = heads(source);
        assert_eq!(
            found,
            [vec![(1, " A."), (2, ""), (3, " B.")], vec![(5, " C.")], vec![(11, " G.")]]
        );
    }
}
