//! A number of a claim as an expression: readings of tables, and what reduces them.
//!
//! ```text
//! max(goodput_bps{flow="main", iw=w} for w in [2, 4]) / goodput_bps{flow="main", iw=1}
//! ```
//!
//! A reading is a column with the conditions of its row and point. `for` takes it through lists,
//! and a figure's `[define]` gives names to what several expressions share.

mod lexer;
mod parser;
mod vocabulary;

pub use vocabulary::Reducer;

use std::collections::BTreeMap;
use std::fmt;

/// A part of an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Node {
    /// A number.
    Number(f64),
    /// A text; `{name}` in it stands for what that name has.
    Text(String),
    /// A name that `for` or a definition's head has given.
    Name(String),
    /// Several.
    List(Vec<Node>),
    /// The opposite.
    Negative(Box<Node>),
    /// Of two.
    Pair(Operator, Box<Node>, Box<Node>),
    /// A reducer of these.
    Reduced(Reducer, Vec<Node>),
    /// A definition with these.
    Defined(String, Vec<Node>),
    /// A column of a table or the samples of a series, with its conditions.
    Reading(String, Vec<(String, Node)>),
    /// The first for each of the lists' values, where the last is so.
    Each(Box<Node>, Vec<(String, Node)>, Option<Box<Node>>),
}

/// A sign between two parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Plus,
    /// `-`
    Minus,
    /// `*`
    Times,
    /// `/`
    Over,
    /// `^`
    Power,
    /// `<`
    Less,
    /// `<=`
    UpTo,
    /// `>`
    Greater,
    /// `>=`
    From,
    /// `=`
    Is,
    /// `and`
    And,
}

/// A definition of a figure: `name(parameters)` and what it stands for.
#[derive(Debug, Clone, PartialEq)]
pub struct Definition {
    /// Its parameters, in their order.
    pub parameters: Vec<String>,
    /// Its expression.
    pub body: Node,
    text: String,
}

/// A figure's definitions, by their names.
pub type Definitions = BTreeMap<String, Definition>;

/// An expression with the definitions that it needs.
#[derive(Clone, PartialEq)]
pub struct Expression {
    /// The whole of it.
    pub root: Node,
    /// Those of its figure.
    pub definitions: Definitions,
    text: String,
}

/// The text, with the definitions that it needs: a figure's digest goes by it.
impl fmt::Debug for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expression({:?}", self.text)?;
        for (name, definition) in &self.definitions {
            write!(f, ", {name}{:?} = {:?}", definition.parameters, definition.text)?;
        }
        write!(f, ")")
    }
}

/// The text with single spaces.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Reads a figure's definitions: heads such as `share(rate)`, and expressions.
///
/// # Errors
/// What is wrong, and where.
pub(crate) fn definitions(texts: &BTreeMap<String, String>) -> Result<Definitions, String> {
    let heads = texts.iter().map(|(head, text)| {
        let (name, parameters) = parser::head(head).map_err(|why| format!("{head}: {why}"))?;
        Ok((name, (parameters, text)))
    });
    let heads = heads.collect::<Result<Vec<_>, String>>()?;
    let arities: BTreeMap<String, usize> =
        heads.iter().map(|(name, (parameters, _))| (name.clone(), parameters.len())).collect();
    let mut definitions = Definitions::new();
    for (name, (parameters, text)) in heads {
        let body = parser::parse(text, &arities, &parameters)
            .map_err(|why| format!("define.{name}: {why}"))?;
        let definition = Definition { parameters, body, text: spaced(text) };
        if definitions.insert(name.clone(), definition).is_some() {
            return Err(format!("define.{name}: it is defined twice"));
        }
    }
    for name in definitions.keys() {
        if needed(&definitions, &definitions[name].body).contains_key(name) {
            return Err(format!("define.{name}: it needs itself"));
        }
    }
    Ok(definitions)
}

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    /// What is wrong, and where.
    pub(crate) fn read(text: &str, definitions: &Definitions) -> Result<Expression, String> {
        let arities =
            definitions.iter().map(|(name, of)| (name.clone(), of.parameters.len())).collect();
        let root = parser::parse(text, &arities, &[])?;
        let definitions = needed(definitions, &root);
        Ok(Expression { root, definitions, text: spaced(text) })
    }
}

/// The definitions that a node needs, and those that these need.
fn needed(definitions: &Definitions, node: &Node) -> Definitions {
    let mut found = Definitions::new();
    let mut open = names(node);
    while let Some(name) = open.pop() {
        let Some(definition) = definitions.get(&name) else { continue };
        if found.insert(name, definition.clone()).is_none() {
            open.extend(names(&definition.body));
        }
    }
    found
}

/// The definitions that stand in a node itself.
fn names(node: &Node) -> Vec<String> {
    let all = |nodes: &[Node]| nodes.iter().flat_map(names).collect::<Vec<_>>();
    match node {
        Node::Number(_) | Node::Text(_) | Node::Name(_) => Vec::new(),
        Node::List(of) | Node::Reduced(_, of) => all(of),
        Node::Negative(of) => names(of),
        Node::Pair(_, left, right) => [names(left), names(right)].concat(),
        Node::Defined(name, of) => [vec![name.clone()], all(of)].concat(),
        Node::Reading(_, conditions) => {
            conditions.iter().flat_map(|(_, node)| names(node)).collect()
        }
        Node::Each(of, lists, only) => {
            let lists = lists.iter().flat_map(|(_, node)| names(node));
            names(of).into_iter().chain(lists).chain(only.iter().flat_map(|it| names(it))).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrong(text: &str) -> String {
        let texts = [("twice(x)".to_owned(), "2 * x".to_owned())];
        let definitions = definitions(&texts.into()).unwrap();
        Expression::read(text, &definitions).unwrap_err()
    }

    #[test]
    fn errors_say_what_is_wrong_and_where() {
        assert_eq!(wrong("1 +"), "at its end: a number, a name or a bracket is missing");
        assert_eq!(wrong("(1 + 2"), "at its end: ) is missing");
        assert_eq!(wrong("1 2"), "at \"2\": nothing more is expected");
        assert_eq!(wrong("x"), "at \"x\": nothing is called x");
        assert_eq!(wrong("mid(1)"), "at \"mid(1)\": there is no reducer or definition mid");
        assert_eq!(wrong("twice(1, 2)"), "at \"twice(1, 2)\": twice takes 1, and not 2");
        assert_eq!(wrong("abs(1, 2)"), "at \"abs(1, 2)\": abs takes 1, and not 2");
        assert_eq!(wrong("max()"), "at \"max()\": max takes at least 1");
        assert_eq!(wrong("a{flow=\"main\""), "at its end: } is missing");
        assert_eq!(wrong("a{flow}"), "at \"}\": = is missing");
        assert_eq!(wrong("1 $ 2"), "at \"$ 2\": $ means nothing");
        assert_eq!(wrong("\"main"), "at \"\\\"main\": the text has no end");
        assert_eq!(wrong("max(x for x)"), "at \")\": in is missing");
    }

    #[test]
    fn definitions_are_checked() {
        let of = |head: &str, text: &str| definitions(&[(head.to_owned(), text.to_owned())].into());
        assert_eq!(of("a(b", "1").unwrap_err(), "a(b: at its end: ) is missing");
        assert_eq!(of("a", "a + 1").unwrap_err(), "define.a: it needs itself");
        assert_eq!(of("max(x)", "x").unwrap_err(), "max(x): max is a reducer");
        assert_eq!(of("a(x)", "y").unwrap_err(), "define.a: at \"y\": nothing is called y");
    }

    #[test]
    fn an_expression_is_known_by_its_text_and_the_definitions_that_it_needs() {
        let texts = [("a", "b  + 1"), ("b", "2"), ("c", "3")];
        let texts = texts.map(|(head, text)| (head.to_owned(), text.to_owned())).into();
        let of = |text| Expression::read(text, &definitions(&texts).unwrap()).unwrap();
        let found = format!("{:?}", of("a *\n 2"));
        assert_eq!(found, "Expression(\"a * 2\", a[] = \"b + 1\", b[] = \"2\")");
    }
}
