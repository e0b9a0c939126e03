//! Parameters that a paper leaves free, with other values than the chosen ones.

use serde::Deserialize;
use std::collections::BTreeMap;
use toml::Value;

/// A parameter that the paper does not state.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeParameter {
    /// Its name, in our words.
    pub name: String,
    /// The claims that it can move.
    pub claims: Vec<String>,
    /// The experiments in which it is changed.
    pub scenarios: Vec<String>,
    /// The chosen value, in our words.
    pub chosen: String,
    /// The grounds of the choice, and of the range.
    pub source: String,
    /// True if the paper or a source of its time states the chosen value. The others are shown, and
    /// decide nothing.
    #[serde(default)]
    pub stated: bool,
    /// The other values.
    pub values: Vec<FreeValue>,
    /// The number of runs of a point, if not its experiment's own.
    #[serde(default)]
    pub runs: Option<u32>,
}

/// Another value of a free parameter.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FreeValue {
    /// The value, in our words.
    pub name: String,
    /// The fields that it changes, by their paths.
    pub set: BTreeMap<String, Value>,
}
