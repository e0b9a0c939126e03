//! Rust text as a row of tokens. Whitespace, comments and a comma before a closing bracket do not
//! count: rustfmt moves them.

use proc_macro2::{Delimiter, LexError, Span, TokenStream, TokenTree};
use std::ops::Range;

/// A token, and which bytes of the text it is.
struct Token {
    text: String,
    bytes: Range<usize>,
}

/// The tokens of a text.
pub(crate) struct Tokens(Vec<Token>);

impl Tokens {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// A bracket without its other half, or what is no token of Rust.
    pub(crate) fn of(text: &str) -> Result<Tokens, LexError> {
        let mut tokens = Tokens(Vec::new());
        tokens.add(text.parse()?);
        Ok(tokens)
    }

    fn add(&mut self, stream: TokenStream) {
        for tree in stream {
            match tree {
                TokenTree::Group(group) => {
                    let (open, close) = brackets(group.delimiter());
                    self.push(open, group.span_open());
                    self.add(group.stream());
                    self.0.pop_if(|last| last.text == ",");
                    self.push(close, group.span_close());
                }
                leaf => self.push(&leaf.to_string(), leaf.span()),
            }
        }
    }

    fn push(&mut self, text: &str, span: Span) {
        self.0.push(Token { text: text.to_owned(), bytes: span.byte_range() });
    }

    /// Where `part` is: the bytes of each occurrence.
    pub(crate) fn find(&self, part: &Tokens) -> Vec<Range<usize>> {
        let width = part.0.len().max(1);
        let places = self.0.windows(width).filter(|place| same(place, &part.0));
        places.map(|place| place[0].bytes.start..place[width - 1].bytes.end).collect()
    }

    /// Whether the token `text` is among them.
    pub(crate) fn contain(&self, text: &str) -> bool {
        self.0.iter().any(|token| token.text == text)
    }
}

impl PartialEq for Tokens {
    fn eq(&self, other: &Tokens) -> bool {
        same(&self.0, &other.0)
    }
}

fn same(one: &[Token], other: &[Token]) -> bool {
    one.iter().map(|token| &token.text).eq(other.iter().map(|token| &token.text))
}

fn brackets(delimiter: Delimiter) -> (&'static str, &'static str) {
    match delimiter {
        Delimiter::Parenthesis => ("(", ")"),
        Delimiter::Brace => ("{", "}"),
        Delimiter::Bracket => ("[", "]"),
        Delimiter::None => ("", ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find<'a>(text: &'a str, part: &str) -> Vec<&'a str> {
        let places = Tokens::of(text).unwrap().find(&Tokens::of(part).unwrap());
        places.into_iter().map(|bytes| &text[bytes]).collect()
    }

    #[test]
    fn lines_are_broken_anywhere() {
        let text = "self\n    .legs\n    .sum(\n        one,\n        other,\n    )";
        assert_eq!(find(text, "self.legs.sum(one, other)"), [text]);
        assert_eq!(find("self.legs.sum(one, other)", text), ["self.legs.sum(one, other)"]);
    }

    #[test]
    fn comments_do_not_count_and_strings_do() {
        assert_eq!(find("a /* + */ + b // a + b\n;", "a + b"), ["a /* + */ + b"]);
        assert_eq!(find(r#"f("a + b", "}")"#, "a + b"), [""; 0]);
        assert_eq!(find(r#"f("a + b", "}")"#, r#""}""#), [r#""}""#]);
    }

    #[test]
    fn names_are_whole() {
        assert_eq!(find("snd_nxt + nxt", "nxt"), ["nxt"]);
        assert_eq!(find("nxt; nxt", "nxt"), ["nxt", "nxt"]);
        assert_eq!(find("nxt", ""), [""; 0]);
    }

    #[test]
    fn bytes_are_the_texts_own() {
        assert_eq!(find("\"ä→\"; nxt", "nxt"), ["nxt"]);
    }

    #[test]
    fn brackets_come_in_pairs() {
        assert!(Tokens::of("if ready {").is_err());
    }
}
