//! How figures are read.

use super::{AxisText, FIGURE, Figure, Line, PrintedValue, REFERENCE, ReferenceLine, Word};
use bentpipe_config::Problem;
use bentpipe_config::document::{Node, Value};
use bentpipe_config::reader::{Context, FromNode, Reader, Result};

/// Reads the tables under `figure`.
pub(crate) fn read(context: &Context<'_>, node: &Node) -> Result<Vec<Figure>> {
    let Value::Table(table) = &node.value else {
        return Err(context.type_error(node, "tables such as [figure.a]"));
    };
    let entries = table.entries.iter();
    let figure = |entry: &bentpipe_config::document::Entry| {
        let sound = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '_';
        if entry.key.is_empty() || !entry.key.chars().all(sound) {
            let why = format!("`{}` is no name of files (letters, digits, - and _)", entry.key);
            return Err(context.error(entry.key_at, Problem::Value(why)));
        }
        let title = format!("[figure.{}]", entry.key);
        let reader = Reader::open(context, &entry.node, &title, &[&FIGURE])?;
        Figure::read(&reader, &entry.key, entry.key_at)
    };
    entries.map(figure).collect()
}

impl Figure {
    fn read(reader: &Reader<'_>, name: &str, at: usize) -> Result<Figure> {
        let context = reader.context;
        let axis = |label: &str, unit: &str, range: &str| {
            Ok(AxisText {
                label: reader.maybe(label)?,
                unit: reader.maybe(unit)?,
                range: reader.node(range).map(|node| ends(context, node)).transpose()?,
            })
        };
        let log = match reader.node("log") {
            Some(node) => many(context, node, |item| context.choice(item, "axis"))?,
            None => Vec::new(),
        };
        let positive = |key: &str| match reader.maybe::<f64>(key)? {
            Some(value) if value <= 0.0 => Err(reader.bad(key, "expected a number above zero")),
            value => Ok(value),
        };
        Ok(Figure {
            position: context.position(at),
            x: reader.node("x").map(|node| word(context, node)).transpose()?,
            y: word(context, reader.need_node("y")?)?,
            table: reader.node("table").map(|node| word(context, node)).transpose()?,
            curves: reader.node("curves").map(|node| words(context, node)).transpose()?,
            panels: reader.node("panels").map_or(Ok(Vec::new()), |node| words(context, node))?,
            kind: reader.maybe_choice("kind")?,
            errors: reader.choice("errors")?,
            log,
            only: reader.node("where").map_or(Ok(Vec::new()), |node| by_column(context, node))?,
            names: reader.node("names").map_or(Ok(Vec::new()), |node| by_column(context, node))?,
            run: reader.or("run", 0)?,
            share: reader.or("share", false)?,
            per: positive("y-per")?,
            modulo: positive("y-modulo")?,
            x_axis: axis("x-label", "x-unit", "x-range")?,
            y_axis: axis("y-label", "y-unit", "y-range")?,
            references: match reader.node("references") {
                Some(node) => many(context, node, |item| reference(context, item))?,
                None => Vec::new(),
            },
            printed: match reader.node("printed") {
                Some(node) => many(context, node, |item| PrintedValue::read(context, item))?,
                None => Vec::new(),
            },
            title: reader.or("title", String::new())?,
            caption: reader.or("caption", String::new())?,
            name: name.to_owned(),
        })
    }
}

pub(super) fn word(context: &Context<'_>, node: &Node) -> Result<Word> {
    Ok(Word { text: String::from_node(context, node)?, position: context.position(node.at) })
}

fn words(context: &Context<'_>, node: &Node) -> Result<Vec<Word>> {
    many(context, node, |item| word(context, item))
}

/// One, or a list of them.
fn many<T>(
    context: &Context<'_>,
    node: &Node,
    read: impl Fn(&Node) -> Result<T>,
) -> Result<Vec<T>> {
    match &node.value {
        Value::List(list) => list.iter().map(read).collect(),
        Value::Table(_) => Err(context.type_error(node, "a list in square brackets")),
        _ => Ok(vec![read(node)?]),
    }
}

/// Columns with one value each, or several.
fn by_column(context: &Context<'_>, node: &Node) -> Result<Vec<(Word, Vec<String>)>> {
    let Value::Table(table) = &node.value else {
        return Err(context.type_error(node, "a table such as { flow = \"main\" }"));
    };
    let column = |entry: &bentpipe_config::document::Entry| {
        let word = Word { text: entry.key.clone(), position: context.position(entry.key_at) };
        let values = match &entry.node.value {
            Value::List(list) => list.iter().map(Node::label).collect(),
            // `link.sat.delay = …` without quotes around the path.
            Value::Table(_) => {
                let why = format!("a path stands in quotes: \"{}.…\" = …", entry.key);
                return Err(context.value_error(&entry.node, why));
            }
            _ => vec![entry.node.label()],
        };
        Ok((word, values))
    };
    table.entries.iter().map(column).collect()
}

pub(super) fn ends(context: &Context<'_>, node: &Node) -> Result<(f64, f64)> {
    match Vec::<f64>::from_node(context, node)?[..] {
        [from, to] if from < to => Ok((from, to)),
        _ => Err(context.value_error(node, "expected two numbers, the lesser one first")),
    }
}

fn reference(context: &Context<'_>, node: &Node) -> Result<ReferenceLine> {
    let reader = Reader::open(context, node, "a line of references", &[&REFERENCE])?;
    let number = |key: &str| reader.maybe::<f64>(key);
    let line = match (number("x")?, number("y")?, number("factor")?) {
        (Some(x), None, None) => Line::Vertical(x),
        (None, Some(y), None) => Line::Horizontal(y),
        (None, None, Some(factor)) => Line::Power { factor, exponent: reader.or("exponent", 1.0)? },
        _ => return Err(context.value_error(node, "expected one of `x`, `y` and `factor`")),
    };
    Ok(ReferenceLine { line, label: reader.or("label", String::new())? })
}
