//! How single values of a file are read.

use super::{Context, FromNode, Result};
use crate::document::{Node, Value};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Probability, Rate, parse_duration};
use bentpipe_gateway::PairKey;
use bentpipe_gateway::policy::Share;
use std::str::FromStr;

fn parsed<T: FromStr>(context: &Context<'_>, node: &Node, expected: &str) -> Result<T>
where
    T::Err: std::fmt::Display,
{
    match &node.value {
        Value::Text(text) => {
            text.parse().map_err(|why: T::Err| context.value_error(node, why.to_string()))
        }
        _ => Err(context.type_error(node, expected)),
    }
}

impl FromNode for String {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<String> {
        match &node.value {
            Value::Text(text) => Ok(text.clone()),
            _ => Err(context.type_error(node, "a text")),
        }
    }
}

impl FromNode for bool {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<bool> {
        match &node.value {
            Value::Switch(on) => Ok(*on),
            _ => Err(context.type_error(node, "true or false")),
        }
    }
}

impl FromNode for f64 {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<f64> {
        match &node.value {
            Value::Integer(number) => Ok(*number as f64),
            Value::Float(number) if number.is_finite() => Ok(*number),
            _ => Err(context.type_error(node, "a number")),
        }
    }
}

macro_rules! whole_numbers {
    ($($kind:ty),*) => {$(
        impl FromNode for $kind {
            fn from_node(context: &Context<'_>, node: &Node) -> Result<$kind> {
                match &node.value {
                    Value::Integer(number) => <$kind>::try_from(*number).map_err(|_| {
                        let (min, max) = (<$kind>::MIN, <$kind>::MAX);
                        let why = format!("{number} is out of range (expected {min} to {max})");
                        context.value_error(node, why)
                    }),
                    _ => Err(context.type_error(node, "a whole number")),
                }
            }
        }
    )*};
}
whole_numbers!(u8, u16, u32, u64, usize, i64);

impl FromNode for Duration {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Duration> {
        match &node.value {
            Value::Text(text) => {
                parse_duration(text).map_err(|why| context.value_error(node, why.to_string()))
            }
            _ => Err(context.type_error(node, "a time such as \"250ms\"")),
        }
    }
}

impl FromNode for Rate {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Rate> {
        parsed(context, node, "a rate such as \"8Mbit/s\"")
    }
}

impl FromNode for Bytes {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Bytes> {
        match &node.value {
            Value::Integer(count) if *count >= 0 => Ok(Bytes::new(count.unsigned_abs())),
            _ => parsed(context, node, "bytes such as \"10MB\" or \"64KiB\""),
        }
    }
}

impl FromNode for Share {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Share> {
        parsed(context, node, "a share such as \"5%\"")
    }
}

impl FromNode for PairKey {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<PairKey> {
        parsed(context, node, "a key of 32 hexadecimal digits")
    }
}

impl FromNode for Probability {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Probability> {
        let expected = "a probability such as 0.01, \"1%\" or 1e-6";
        let number = match &node.value {
            Value::Integer(number) => *number as f64,
            Value::Float(number) => *number,
            _ => return parsed(context, node, expected),
        };
        Probability::new(number).ok_or_else(|| context.type_error(node, expected))
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    fn from_node(context: &Context<'_>, node: &Node) -> Result<Vec<T>> {
        match &node.value {
            Value::List(list) => list.iter().map(|item| T::from_node(context, item)).collect(),
            _ => Err(context.type_error(node, "a list in square brackets")),
        }
    }
}
