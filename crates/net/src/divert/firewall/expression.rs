//! Expressions in nft's JSON (libnftables-json(5)): marks, networks, and how they read in nft's language.

use super::{MarkOf, Network, Value};
use serde_json::Value as Json;

/// The networks that stand there; what is not understood is any.
pub(super) fn networks(right: &Json) -> Vec<Network> {
    let any = || ["0.0.0.0/0", "::/0"].into_iter().filter_map(Network::parse).collect();
    let one = |text: &str| Network::parse(text).map(|network| vec![network]);
    match right {
        Json::String(text) => one(text).unwrap_or_else(any),
        _ => {
            let prefix = &right["prefix"];
            one(&format!("{}/{}", text(prefix, "addr"), prefix["len"])).unwrap_or_else(any)
        }
    }
}

/// As in nft's language, if that is sure.
pub(super) fn in_words(value: &Json) -> Option<String> {
    let list = |list: &[Json]| list.iter().map(in_words).collect::<Option<Vec<_>>>();
    match value {
        Json::String(text) => {
            let plain = |c: char| c.is_ascii_alphanumeric() || "._-:/@".contains(c);
            text.chars().all(plain).then(|| text.clone())
        }
        Json::Number(number) => Some(number.to_string()),
        Json::Object(object) => {
            let (key, inner) = object.iter().next()?;
            match (key.as_str(), inner) {
                ("payload", _) => {
                    let (protocol, field) = (inner["protocol"].as_str()?, inner["field"].as_str()?);
                    Some(format!("{protocol} {field}"))
                }
                ("ct", _) if inner["dir"].is_null() => Some(format!("ct {}", text(inner, "key"))),
                ("meta", _) => Some(format!("meta {}", text(inner, "key"))),
                ("prefix", _) => Some(format!("{}/{}", inner["addr"].as_str()?, inner["len"])),
                ("range", Json::Array(ends)) => Some(list(ends)?.join("-")),
                ("set", Json::Array(elements)) => {
                    Some(format!("{{ {} }}", list(elements)?.join(", ")))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whose mark an expression is.
pub(super) fn mark_of(left: &Json) -> Option<MarkOf> {
    if left["meta"]["key"] == "mark" {
        Some(MarkOf::Packet)
    } else if left["ct"]["key"] == "mark" {
        Some(MarkOf::Connection)
    } else {
        None
    }
}

/// A mark, or one with a mask.
pub(super) fn masked_mark(left: &Json) -> Option<(MarkOf, u32)> {
    match left["&"].as_array().map(Vec::as_slice) {
        Some([inner, mask]) => Some((mark_of(inner)?, number(mask)?)),
        _ => Some((mark_of(left)?, u32::MAX)),
    }
}

/// The value that a mark is set to.
pub(super) fn value(expr: &Json) -> Value {
    if let Some(from) = mark_of(expr) {
        return Value::Of { from, and: u32::MAX, xor: 0 };
    }
    if let Some(number) = number(expr) {
        return Value::Of { from: MarkOf::Packet, and: 0, xor: number };
    }
    let binary = |key: &str| match expr[key].as_array().map(Vec::as_slice) {
        Some([inner, operand]) => Some((value(inner), number(operand)?)),
        _ => None,
    };
    // (m & a) ^ x, with each of the operators behind it.
    if let Some((Value::Of { from, and, xor }, operand)) = binary("&") {
        Value::Of { from, and: and & operand, xor: xor & operand }
    } else if let Some((Value::Of { from, and, xor }, operand)) = binary("|") {
        Value::Of { from, and: and & !operand, xor: (xor & !operand) | operand }
    } else if let Some((Value::Of { from, and, xor }, operand)) = binary("^") {
        Value::Of { from, and, xor: xor ^ operand }
    } else {
        Value::Unknown
    }
}

pub(super) fn number(value: &Json) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

pub(in super::super) fn text<'a>(object: &'a Json, key: &str) -> &'a str {
    object.get(key).and_then(Json::as_str).unwrap_or("")
}

/// Whether any of `keys` is the key of an object somewhere inside.
pub(in super::super) fn mentions_key(value: &Json, keys: &[&str]) -> bool {
    match value {
        Json::Object(map) => {
            map.iter().any(|(key, inner)| keys.contains(&key.as_str()) || mentions_key(inner, keys))
        }
        Json::Array(list) => list.iter().any(|inner| mentions_key(inner, keys)),
        _ => false,
    }
}
