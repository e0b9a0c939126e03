//! `[interfaces]`: the two sides.

use super::{ConfigError, Place, Wrong};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::PathBuf;
use toml::Spanned;

/// The kernel's longest name (`IFNAMSIZ`, which counts a zero behind it).
const LONGEST_NAME: usize = 15;

/// Each takes a rule of its own, which every packet is compared with.
const MOST: usize = 256;

/// What is no interface of hosts: our own devices, and the loopback, through which nothing is
/// forwarded.
const NOT_OF_HOSTS: [(&str, &str); 3] = [
    ("bp-lan", "the gateway's own device"),
    ("bp-sat", "the gateway's own device"),
    ("lo", "the loopback: nothing is forwarded through it"),
];

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    lan: Spanned<Vec<Spanned<String>>>,
    satellite: Spanned<Vec<Spanned<String>>>,
}

/// The two sides' interfaces.
#[derive(Debug)]
pub(crate) struct Interfaces {
    pub(crate) lan: Vec<String>,
    pub(crate) satellite: Vec<String>,
}

/// Where interfaces are named, for what shows only when they are looked for.
#[derive(Debug)]
pub(crate) struct Places {
    path: PathBuf,
    lines: BTreeMap<String, usize>,
}

impl Places {
    /// `message`, with the line where `interface` is named.
    pub(crate) fn at(&self, interface: &str, message: impl Display) -> ConfigError {
        let line = self.lines.get(interface).copied().unwrap_or(1);
        ConfigError::Parse { path: self.path.clone(), line, message: message.to_string() }
    }
}

impl Table {
    /// Both sides, and where everything stands.
    pub(super) fn read(&self, place: &Place<'_>) -> Result<(Interfaces, Places), Wrong> {
        let mut lines = BTreeMap::new();
        let lan = side("lan", &self.lan, &mut lines, place)?;
        let satellite = side("satellite", &self.satellite, &mut lines, place)?;
        let places = Places { path: place.path.to_owned(), lines };
        Ok((Interfaces { lan, satellite }, places))
    }
}

fn side(
    key: &str,
    names: &Spanned<Vec<Spanned<String>>>,
    lines: &mut BTreeMap<String, usize>,
    place: &Place<'_>,
) -> Result<Vec<String>, Wrong> {
    if names.get_ref().is_empty() {
        return Err(Wrong::at(names, &format!("{key}: this side has no interface")));
    }
    if names.get_ref().len() > MOST {
        return Err(Wrong::at(names, &format!("{key}: more than {MOST} interfaces")));
    }
    for spanned in names.get_ref() {
        let name = spanned.get_ref();
        let wrong = |message: String| Wrong::at(spanned, &message);
        let ordinary = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(ordinary) {
            return Err(wrong(format!(
                "`{name}` is no interface name: 1 to {LONGEST_NAME} letters, digits and `._-@`"
            )));
        }
        if let Some((_, what)) = NOT_OF_HOSTS.iter().find(|(of, _)| of == name) {
            return Err(wrong(format!("`{name}` is {what}")));
        }
        if let Some(line) = lines.insert(name.clone(), place.line(spanned.span().start)) {
            return Err(wrong(format!("`{name}` is named twice: on line {line} already")));
        }
    }
    Ok(names.get_ref().iter().map(|name| name.get_ref().clone()).collect())
}
