//! From an expression's text to what it is made of.

use super::lexer::{Token, Word, place, words};
use super::{Node, Operator, Reducer};
use std::collections::BTreeMap;

/// Operators by how strongly they bind, the weakest first.
const LEVELS: [&[(&str, Operator)]; 4] = [
    &[("and", Operator::And)],
    &[
        ("<", Operator::Less),
        ("<=", Operator::UpTo),
        (">", Operator::Greater),
        (">=", Operator::From),
        ("=", Operator::Is),
    ],
    &[("+", Operator::Plus), ("-", Operator::Minus)],
    &[("*", Operator::Times), ("/", Operator::Over)],
];

/// Parses `text`; it may use definitions that take so many, and these names.
pub(super) fn parse(
    text: &str,
    definitions: &BTreeMap<String, usize>,
    names: &[String],
) -> Result<Node, String> {
    let tokens = words(text)?;
    let mut parser = Parser { text, tokens, at: 0, definitions, names: names.to_vec() };
    let node = parser.expression()?;
    match parser.tokens.get(parser.at) {
        Some(_) => Err(parser.wrong("nothing more is expected")),
        None => Ok(node),
    }
}

/// A definition's name and parameters: `share` or `share(rate, bytes)`.
pub(super) fn head(text: &str) -> Result<(String, Vec<String>), String> {
    let nothing = BTreeMap::new();
    let tokens = words(text)?;
    let mut parser = Parser { text, tokens, at: 0, definitions: &nothing, names: Vec::new() };
    let name = parser.name()?;
    if Reducer::named(&name).is_some() {
        return Err(format!("{name} is a reducer"));
    }
    let mut parameters = Vec::new();
    if parser.takes("(") {
        loop {
            parameters.push(parser.name()?);
            if !parser.takes(",") {
                break;
            }
        }
        parser.expect(")")?;
    }
    match parser.tokens.get(parser.at) {
        Some(_) => Err(parser.wrong("nothing more is expected")),
        None => Ok((name, parameters)),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<Token>,
    at: usize,
    definitions: &'a BTreeMap<String, usize>,
    names: Vec<String>,
}

impl Parser<'_> {
    fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |token| token.at)
    }

    fn wrong(&self, why: &str) -> String {
        self.wrong_at(self.start(), why)
    }

    fn wrong_at(&self, at: usize, why: &str) -> String {
        format!("{}: {why}", place(self.text, at))
    }

    fn word(&self) -> Option<&Word> {
        self.tokens.get(self.at).map(|token| &token.word)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let there = matches!(self.word(), Some(Word::Sign(found)) if *found == sign);
        self.at += usize::from(there);
        there
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let there = matches!(self.word(), Some(Word::Name(found)) if found == name);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, sign: &str) -> Result<(), String> {
        if self.takes(sign) { Ok(()) } else { Err(self.wrong(&format!("{sign} is missing"))) }
    }

    fn name(&mut self) -> Result<String, String> {
        match self.word() {
            Some(Word::Name(name)) => {
                let name = name.clone();
                self.at += 1;
                Ok(name)
            }
            _ => Err(self.wrong("a name is missing")),
        }
    }

    fn expression(&mut self) -> Result<Node, String> {
        self.level(0)
    }

    fn level(&mut self, level: usize) -> Result<Node, String> {
        let Some(operators) = LEVELS.get(level) else { return self.signed() };
        let mut left = self.level(level + 1)?;
        while let Some((_, operator)) = operators.iter().find(|(sign, _)| self.takes(sign)) {
            let right = self.level(level + 1)?;
            left = Node::Pair(*operator, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Node, String> {
        if self.takes("-") {
            return Ok(Node::Negative(Box::new(self.signed()?)));
        }
        let base = self.primary()?;
        if self.takes("^") {
            let exponent = self.signed()?;
            return Ok(Node::Pair(Operator::Power, Box::new(base), Box::new(exponent)));
        }
        Ok(base)
    }

    fn primary(&mut self) -> Result<Node, String> {
        let start = self.start();
        if self.takes("(") {
            let node = self.expression()?;
            self.expect(")")?;
            return Ok(node);
        }
        if self.takes("[") {
            return Ok(Node::List(self.several("]")?));
        }
        let word = self.word().cloned();
        self.at += 1;
        match word {
            Some(Word::Number(number)) => Ok(Node::Number(number)),
            Some(Word::Text(text)) => Ok(Node::Text(text)),
            Some(Word::Name(name)) => self.named(start, name),
            _ => {
                self.at -= 1;
                Err(self.wrong("a number, a name or a bracket is missing"))
            }
        }
    }

    /// A call, a reading, or a name.
    fn named(&mut self, start: usize, name: String) -> Result<Node, String> {
        if self.takes("{") {
            return Ok(Node::Reading(name, self.conditions()?));
        }
        if self.takes("(") {
            let of = self.several(")")?;
            let takes = |count: usize| {
                let why = format!("{name} takes {count}, and not {}", of.len());
                self.wrong_at(start, &why)
            };
            if let Some((reducer, min, max)) = Reducer::named(&name) {
                return match of.len() {
                    given if (min..=max).contains(&given) => Ok(Node::Reduced(reducer, of)),
                    _ if max > min => {
                        Err(self.wrong_at(start, &format!("{name} takes at least {min}")))
                    }
                    _ => Err(takes(min)),
                };
            }
            return match self.definitions.get(&name) {
                Some(count) if *count == of.len() => Ok(Node::Defined(name, of)),
                Some(count) => Err(takes(*count)),
                None => {
                    let why = format!("there is no reducer or definition {name}");
                    Err(self.wrong_at(start, &why))
                }
            };
        }
        if self.names.contains(&name) {
            return Ok(Node::Name(name));
        }
        match self.definitions.get(&name) {
            Some(0) => Ok(Node::Defined(name, Vec::new())),
            Some(count) => Err(self.wrong_at(start, &format!("{name} takes {count}, and not 0"))),
            None => Err(self.wrong_at(start, &format!("nothing is called {name}"))),
        }
    }

    /// What stands between commas, each with its `for`, up to this sign.
    fn several(&mut self, end: &str) -> Result<Vec<Node>, String> {
        let mut nodes = Vec::new();
        if self.takes(end) {
            return Ok(nodes);
        }
        loop {
            nodes.push(self.each()?);
            if !self.takes(",") {
                break;
            }
        }
        self.expect(end)?;
        Ok(nodes)
    }

    /// `EXPRESSION for NAME in LIST … if EXPRESSION`. The names come after what uses them: their
    /// clauses are found first.
    fn each(&mut self) -> Result<Node, String> {
        let names = self.names.len();
        self.names.extend(self.names_ahead());
        let of = self.expression()?;
        self.names.truncate(names);
        let mut lists = Vec::new();
        while self.takes_name("for") {
            let name = self.name()?;
            if !self.takes_name("in") {
                return Err(self.wrong("in is missing"));
            }
            lists.push((name.clone(), self.expression()?));
            self.names.push(name);
        }
        let only = self.takes_name("if").then(|| self.expression()).transpose()?;
        self.names.truncate(names);
        match (lists.is_empty(), &only) {
            (true, None) => Ok(of),
            (true, Some(_)) => Err(self.wrong("if stands behind for")),
            _ => Ok(Node::Each(Box::new(of), lists, only.map(Box::new))),
        }
    }

    /// The names of the `for` clauses of what stands up to the next comma or closing bracket.
    fn names_ahead(&self) -> Vec<String> {
        let (mut depth, mut names) = (0_usize, Vec::new());
        let ahead = &self.tokens[self.at..];
        for (index, token) in ahead.iter().enumerate() {
            match &token.word {
                Word::Sign("(" | "[" | "{") => depth += 1,
                Word::Sign(")" | "]" | "}") if depth == 0 => break,
                Word::Sign(")" | "]" | "}") => depth -= 1,
                Word::Sign(",") if depth == 0 => break,
                Word::Name(name) if name == "for" && depth == 0 => {
                    if let Some(Word::Name(name)) = ahead.get(index + 1).map(|token| &token.word) {
                        names.push(name.clone());
                    }
                }
                _ => {}
            }
        }
        names
    }

    fn conditions(&mut self) -> Result<Vec<(String, Node)>, String> {
        let mut conditions = Vec::new();
        if self.takes("}") {
            return Ok(conditions);
        }
        loop {
            let key = match self.word() {
                Some(Word::Text(key)) => {
                    let key = key.clone();
                    self.at += 1;
                    key
                }
                _ => self.name()?,
            };
            self.expect("=")?;
            conditions.push((key, self.level(2)?));
            if !self.takes(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(conditions)
    }
}
