//! Sentences of running text, with their words.

use crate::atoms::atoms;
use crate::markdown::Paragraph;

/// Abbreviations that end no sentence.
const ABBREVIATIONS: [&str; 8] = ["e.g.", "i.e.", "cf.", "vs.", "al.", "Fig.", "Sec.", "No."];

/// A sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sentence {
    /// The line in which it begins.
    pub(crate) line: usize,
    /// Its words; a span of code or a quotation is one.
    pub(crate) words: Vec<String>,
}

impl Sentence {
    /// How many words it has; punctuation by itself is none.
    pub(crate) fn length(&self) -> usize {
        self.words.iter().filter(|word| word.contains(char::is_alphanumeric)).count()
    }

    /// Its words in small letters without punctuation; what is code, a name or a quotation is
    /// empty.
    pub(crate) fn plain(&self) -> Vec<String> {
        let own = |word: &String| {
            let exempt = word.contains(['`', '"', '“', '_', '/']) || word.contains("::");
            let word = if exempt { "" } else { word.as_str() };
            word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase()
        };
        self.words.iter().map(own).collect()
    }

    /// Whether it asks.
    pub(crate) fn is_question(&self) -> bool {
        self.words.last().is_some_and(|last| last.trim_end_matches(CLOSING).ends_with('?'))
    }
}

/// What may stand behind the end of a sentence.
const CLOSING: [char; 7] = [')', '"', '”', '*', '_', ']', '\''];

/// Divides a paragraph into sentences.
pub(crate) fn sentences(paragraph: &Paragraph<'_>) -> Vec<Sentence> {
    let mut all: Vec<Sentence> = Vec::new();
    let mut ended = true;
    let words = words(paragraph);
    for (index, (line, word)) in words.iter().enumerate() {
        if ended {
            all.push(Sentence { line: *line, words: Vec::new() });
        }
        if let Some(sentence) = all.last_mut() {
            sentence.words.push(word.clone());
        }
        let following = words.get(index + 1).map(|(_, word)| word.as_str());
        ended = ends(word) && following.is_none_or(begins);
    }
    all
}

/// Whether a sentence may end with this word.
fn ends(word: &str) -> bool {
    let bare = word.trim_end_matches(CLOSING);
    let opening = bare.trim_start_matches(|c: char| !c.is_alphanumeric());
    let initial = opening.chars().count() == 2 && opening.starts_with(char::is_uppercase);
    bare.ends_with(['.', '!', '?']) && !ABBREVIATIONS.contains(&opening) && !initial
}

/// Whether a sentence may begin with this word.
fn begins(word: &str) -> bool {
    !word.starts_with(|c: char| c.is_lowercase() || ",;:".contains(c))
}

/// The words of a paragraph with their lines. Spans of code and quotations over several lines are
/// whole.
fn words(paragraph: &Paragraph<'_>) -> Vec<(usize, String)> {
    let joined: Vec<&str> = paragraph.iter().map(|(_, line)| *line).collect();
    let mut lines =
        paragraph.iter().flat_map(|(number, line)| line.split_whitespace().map(move |_| *number));
    let mut all: Vec<(usize, String)> = Vec::new();
    let mut quoted = 0;
    let atoms = atoms(&joined.join(" "));
    for (index, atom) in atoms.iter().enumerate() {
        let mut pieces = atom.split_whitespace().count();
        let line = lines.next().unwrap_or_default();
        while pieces > 1 {
            lines.next();
            pieces -= 1;
        }
        match all.last_mut() {
            Some((_, last)) if quoted > 0 => {
                last.push(' ');
                last.push_str(atom);
                quoted -= 1;
            }
            _ => {
                all.push((line, atom.clone()));
                quoted = quotation(&atoms[index..]);
            }
        }
    }
    all
}

/// How many words behind the first belong to the same quotation.
fn quotation(atoms: &[String]) -> usize {
    let is_open = |word: &str| !word.contains('`') && word.matches('"').count() % 2 == 1;
    let Some(first) = atoms.first() else { return 0 };
    let opens = first.trim_start_matches(['(', '[', '*']).starts_with('"') && is_open(first);
    let end = atoms[1..].iter().position(|word| is_open(word));
    if opens { end.map_or(0, |end| end + 1) } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn divided(text: &str) -> Vec<(usize, usize, String)> {
        let paragraph: Paragraph<'_> = text.lines().enumerate().collect();
        let own = |it: &Sentence| (it.line, it.length(), it.words.join(" "));
        sentences(&paragraph).iter().map(own).collect()
    }

    #[test]
    fn sentences_end_where_they_end() {
        let text = "An ACK (RFC 9293, 3.10.7.\nsee), e.g. this. `Code a. B` is one? (Yes.) T. Henderson says 1.5 so.";
        let found = divided(text);
        let sentences: Vec<&str> = found.iter().map(|it| it.2.as_str()).collect();
        assert_eq!(
            sentences,
            [
                "An ACK (RFC 9293, 3.10.7. see), e.g. this.",
                "`Code a. B` is one?",
                "(Yes.)",
                "T. Henderson says 1.5 so."
            ]
        );
        assert_eq!((found[1].0, found[1].1), (1, 3));
    }

    #[test]
    fn quotations_are_one_word() {
        assert_eq!(divided("It says \"a b. C d\" – here.")[0].1, 4);
        assert_eq!(divided("It is 5\" wide, \"so to speak")[0].1, 7);
        let paragraph = vec![(1, "He was \"told so\" by `told` and told_by, told.")];
        let plain = sentences(&paragraph)[0].plain();
        assert_eq!(plain.iter().filter(|word| *word == "told").count(), 1);
    }

    #[test]
    fn questions_ask() {
        let asks = |text| sentences(&vec![(1, text)])[0].is_question();
        assert!(asks("*What is it?*") && !asks("What it is."));
    }
}
