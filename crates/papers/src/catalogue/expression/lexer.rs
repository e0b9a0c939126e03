//! An expression's words.

/// A word, with its place in the text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    /// What it is.
    pub(super) word: Word,
    /// Where it begins.
    pub(super) at: usize,
}

/// A word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Word {
    /// A number.
    Number(f64),
    /// What stands between quotation marks.
    Text(String),
    /// A name, or a field's path: it has points and hyphens only inside of braces.
    Name(String),
    /// Anything else.
    Sign(&'static str),
}

const SIGNS: [&str; 18] =
    ["<=", ">=", "<", ">", "=", "+", "-", "*", "/", "^", "(", ")", "[", "]", "{", "}", ",", "and"];

/// What stands at `at`, for an error.
pub(super) fn place(text: &str, at: usize) -> String {
    match text.get(at..) {
        Some(rest) if !rest.trim().is_empty() => {
            let short: String = rest.chars().take(24).collect();
            format!("at {:?}", short.trim_end())
        }
        _ => "at its end".to_owned(),
    }
}

/// The words of a text.
pub(super) fn words(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let (mut at, mut braces) = (0, 0_usize);
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        }
        let (word, length) = if first.is_ascii_digit() {
            let length = number(rest);
            let value = rest[..length].parse();
            let why = |_| format!("{}: it is no number", place(text, at));
            (Word::Number(value.map_err(why)?), length)
        } else if first == '"' {
            let inside = rest[1..].find('"');
            let inside =
                inside.ok_or_else(|| format!("{}: the text has no end", place(text, at)))?;
            (Word::Text(rest[1..=inside].to_owned()), inside + 2)
        } else if first.is_ascii_alphabetic() {
            let is_part =
                |c: char| c.is_ascii_alphanumeric() || c == '_' || (braces > 0 && ".-".contains(c));
            let length = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
            let name = &rest[..length];
            let word = SIGNS.iter().find(|sign| **sign == name);
            (word.map_or_else(|| Word::Name(name.to_owned()), |sign| Word::Sign(sign)), length)
        } else {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            let sign = sign.ok_or_else(|| format!("{}: {first} means nothing", place(text, at)))?;
            match *sign {
                "{" => braces += 1,
                "}" => braces = braces.saturating_sub(1),
                _ => {}
            }
            (Word::Sign(sign), sign.len())
        };
        tokens.push(Token { word, at });
        at += length;
    }
    Ok(tokens)
}

/// How long the number is that a text begins with: `12`, `1.5`, `2e-7`, `1e6`.
fn number(text: &str) -> usize {
    let digits = |from: usize| {
        text[from..].find(|c: char| !c.is_ascii_digit()).map_or(text.len(), |end| from + end)
    };
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        end = digits(end + 1);
    }
    for exponent in ["e-", "e+", "e"] {
        let Some(rest) = text[end..].strip_prefix(exponent) else { continue };
        if rest.starts_with(|c: char| c.is_ascii_digit()) {
            return digits(end + exponent.len());
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_have_points_and_hyphens_inside_of_braces() {
        let of = |text| words(text).unwrap().into_iter().map(|it| it.word).collect::<Vec<_>>();
        let name = |text: &str| Word::Name(text.to_owned());
        assert_eq!(of("a-b"), [name("a"), Word::Sign("-"), name("b")]);
        let inside = of("a{link.sat.bit-errors=1e-7}");
        assert_eq!(
            inside[2..5],
            [name("link.sat.bit-errors"), Word::Sign("="), Word::Number(1e-7)]
        );
        assert_eq!(of("1.5e6"), [Word::Number(1.5e6)]);
        assert_eq!(of("\"a b\""), [Word::Text("a b".to_owned())]);
    }
}
