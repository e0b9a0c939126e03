//! The rules of CONTRIBUTING.md for sentences.

use crate::sentence::Sentence;

/// How many words a sentence of a document has at most.
const DOCUMENT: usize = 35;
/// How many words a sentence of a documentation comment has at most.
const COMMENT: usize = 25;
/// How many words the first sentence of a documentation comment has at most.
const HEAD: usize = 15;

/// Words that we do not use, and those that we write instead.
const WORDS: [(&[&str], &str); 12] = [
    (&["told"], "configured, or what was said to whom"),
    (&["anew"], "again"),
    (&["mend"], "fix, repair"),
    (&["mends"], "fixes, repairs"),
    (&["mended"], "fixed, repaired"),
    (&["mending"], "fixing, repair"),
    (&["beside"], "compared with, next to, at the same time as"),
    (&["whoever"], "the host that, operators that"),
    (&["sent", "again"], "retransmitted"),
    (&["let", "go"], "release"),
    (&["lets", "go"], "releases"),
    (&["hand", "back"], "release"),
];

/// Words with which no head begins.
const QUESTIONS: [&str; 6] = ["what", "how", "which", "where", "who", "whether"];

/// A rule whose exceptions are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// The first sentence of a documentation comment is short.
    LongHead,
    /// Sentences are short.
    LongSentence,
    /// A head is a noun phrase or a verb in the third person.
    QuestionHead,
    /// No statement begins with its subject in the form of a question.
    QuestionSubject,
    /// Some words are not used.
    Word,
}

impl Rule {
    /// All rules, in the order of their names.
    pub const ALL: [Rule; 5] =
        [Rule::LongHead, Rule::LongSentence, Rule::QuestionHead, Rule::QuestionSubject, Rule::Word];

    /// Its name in `ratchet.toml`.
    pub fn name(self) -> &'static str {
        match self {
            Rule::LongHead => "long-head",
            Rule::LongSentence => "long-sentence",
            Rule::QuestionHead => "question-head",
            Rule::QuestionSubject => "question-subject",
            Rule::Word => "word",
        }
    }
}

/// Where a sentence stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Position {
    /// In a document.
    Document,
    /// In a documentation comment, as its first sentence.
    Head,
    /// Behind that.
    Comment,
}

/// Which rules a sentence violates, and what to write instead.
pub(crate) fn violations(sentence: &Sentence, position: Position) -> Vec<(Rule, String)> {
    let plain = sentence.plain();
    let mut all = Vec::new();
    let (most, long) = match position {
        Position::Document => (DOCUMENT, Rule::LongSentence),
        Position::Comment => (COMMENT, Rule::LongSentence),
        Position::Head => (HEAD, Rule::LongHead),
    };
    let length = sentence.length();
    if length > most {
        all.push((long, format!("{length} words: {most} at most, one thought a sentence")));
    }
    let first = plain.first().map_or("", String::as_str);
    if position == Position::Head {
        if QUESTIONS.contains(&first) {
            let instead = "a noun phrase, or a verb in the third person".to_owned();
            all.push((Rule::QuestionHead, instead));
        }
    } else if ["what", "who"].contains(&first) && !sentence.is_question() {
        let instead = format!("instead of \"{first} …\" the thing or the host as the subject");
        all.push((Rule::QuestionSubject, instead));
    }
    for (phrase, instead) in WORDS {
        let at = plain.windows(phrase.len()).enumerate().filter(|(_, words)| words == &phrase);
        // To tell apart is English as we write it.
        let apart = |(at, _): &(usize, _)| plain.get(at + 1).is_some_and(|next| next == "apart");
        let times = at.filter(|it| !apart(it)).count();
        let says = format!("instead of \"{}\": {instead}", phrase.join(" "));
        all.extend(std::iter::repeat_n((Rule::Word, says), times));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sentence::sentences;

    fn rules(text: &str, position: Position) -> Vec<Rule> {
        let all = sentences(&vec![(1, text)]);
        all.iter().flat_map(|it| violations(it, position)).map(|(rule, _)| rule).collect()
    }

    #[test]
    fn sentences_are_short() {
        let long = |words: usize| format!("{}end.", "word ".repeat(words - 1));
        for (position, most, rule) in [
            (Position::Document, 35, Rule::LongSentence),
            (Position::Comment, 25, Rule::LongSentence),
            (Position::Head, 15, Rule::LongHead),
        ] {
            assert_eq!(rules(&long(most), position), []);
            assert_eq!(rules(&long(most + 1), position), [rule]);
        }
    }

    #[test]
    fn heads_and_statements_ask_nothing() {
        assert_eq!(rules("What it does.", Position::Head), [Rule::QuestionHead]);
        assert_eq!(rules("What waits is sent.", Position::Document), [Rule::QuestionSubject]);
        assert_eq!(rules("*What is sent?*", Position::Document), []);
        assert_eq!(rules("Which it does, what not.", Position::Comment), []);
    }

    #[test]
    fn words_are_found_but_in_code() {
        let words = [Rule::Word, Rule::Word];
        assert_eq!(rules("Told so, it is sent again.", Position::Comment), words);
        assert_eq!(rules("It is `told` \"anew\", told apart, mending_it.", Position::Comment), []);
    }
}
