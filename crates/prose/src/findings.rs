//! Exceptions to the rules, with their places.

use crate::heads::heads;
use crate::markdown::paragraphs;
use crate::rules::{Position, Rule, violations};
use crate::sentence::{Sentence, sentences};
use crate::tree::Text;
use std::fmt;

/// A sentence that does not keep to a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Its file.
    pub path: String,
    /// The line in which it begins.
    pub line: usize,
    /// The sentence.
    pub sentence: String,
    /// The way to write it instead.
    pub instead: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Finding { rule, path, line, sentence, instead } = self;
        write!(f, "{path}:{line}: {}: {instead}\n    {sentence}", rule.name())
    }
}

/// Finds all exceptions in a source or a document. A generated page has none.
pub fn findings(text: &Text) -> Vec<Finding> {
    let mut all = Vec::new();
    let mut look = |sentence: &Sentence, position| {
        all.extend(violations(sentence, position).into_iter().map(|(rule, instead)| Finding {
            rule,
            path: text.path.clone(),
            line: sentence.line,
            sentence: sentence.words.join(" "),
            instead,
        }));
    };
    if text.is_source() {
        for head in heads(&text.content) {
            let all = paragraphs(head.into_iter());
            for (index, sentence) in all.iter().flat_map(sentences).enumerate() {
                look(&sentence, if index == 0 { Position::Head } else { Position::Comment });
            }
        }
    } else if !text.is_generated() {
        let lines = text.content.lines().enumerate().map(|(index, line)| (index + 1, line));
        for sentence in paragraphs(lines).iter().flat_map(sentences) {
            look(&sentence, Position::Document);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(path: &str, content: &str) -> Vec<(Rule, usize)> {
        let text = Text { path: path.to_owned(), content: content.to_owned() };
        findings(&text).iter().map(|it| (it.rule, it.line)).collect()
    }

    #[test]
    fn sources_and_documents_have_findings() {
        let source = "//! Which it is.\n//!\n//! What is told.\n\n/// How.\npub fn a() {}\n";
        assert_eq!(
            places("crates/a/src/b.rs", source),
            [
                (Rule::QuestionHead, 1),
                (Rule::QuestionSubject, 3),
                (Rule::Word, 3),
                (Rule::QuestionHead, 5)
            ]
        );
        let page = "# What\n\n*What is it?*\n\nSay\nanew. Who reads\nstops.\n";
        assert_eq!(places("docs/a.md", page), [(Rule::Word, 5), (Rule::QuestionSubject, 6)]);
        assert_eq!(places("docs/papers/a.md", page), []);
    }
}
