//! Configurations of well-known TCPs by name, and from text.
//!
//! A text is a preset's name and what is to be different from it, parted by commas:
//! `linux,iw=4,recovery=newreno,rto.min=1s`. Without a name it begins with the default.
//!
//! A preset is such a text itself, so that it says no more than what sets that TCP apart. A whole
//! configuration is written as a text that names every parameter ([`KEYS`]).

mod forms;
mod keys;
mod named;
mod page;
#[cfg(test)]
mod tests;

pub use keys::{KEYS, Key};
pub use named::{PRESETS, Preset};
pub use page::markdown;

use super::connection::ConnectionConfig;
use crate::text::{Setting, Settings};
use std::fmt;
use std::str::FromStr;

/// Why a configuration's text was not understood.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The text begins with a name that no preset has.
    #[error("no preset is called `{name}` (there are {names})", name = .0.escape_debug(), names = names(PRESETS.iter().map(|preset| preset.name)))]
    Preset(String),
    /// A name stands where `key=value` is expected.
    #[error("`{0}` is not of the form key=value (a preset's name comes first)")]
    Form(String),
    /// There is no such key.
    #[error("no parameter is called `{0}` (there are {names})", names = names(KEYS.iter().map(|key| key.name)))]
    Key(String),
    /// The value does not suit the key.
    #[error("{key}: {why}")]
    Value {
        /// The key.
        key: &'static str,
        /// What is wrong with the value.
        why: String,
    },
}

impl fmt::Display for ConnectionConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, key) in KEYS.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            write!(f, "{comma}{}={}", key.name, key.value(self))?;
        }
        Ok(())
    }
}

impl FromStr for ConnectionConfig {
    type Err = ConfigError;
    fn from_str(text: &str) -> Result<ConnectionConfig, ConfigError> {
        let mut config = ConnectionConfig::default();
        for setting in Settings::read(text).iter() {
            match setting {
                Setting::Base(name) => config = ConnectionConfig::preset(name)?,
                Setting::Pair(key, value) => config.set(key, value)?,
                Setting::Stray(text) => return Err(ConfigError::Form(text.to_owned())),
            }
        }
        Ok(config)
    }
}

impl ConnectionConfig {
    /// The preset of this name.
    ///
    /// # Errors
    /// [`ConfigError::Preset`] if there is none.
    pub fn preset(name: &str) -> Result<ConnectionConfig, ConfigError> {
        let preset = PRESETS.iter().find(|preset| preset.name == name);
        preset.ok_or_else(|| ConfigError::Preset(name.to_owned()))?.text.parse()
    }

    /// Sets one parameter from text.
    ///
    /// # Errors
    /// [`ConfigError::Key`] or [`ConfigError::Value`]; then nothing has changed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ConfigError> {
        let known = KEYS.iter().find(|known| known.name == key);
        let known = known.ok_or_else(|| ConfigError::Key(key.to_owned()))?;
        let mut changed = *self;
        (known.set)(&mut changed, value).map_err(|why| {
            let key = known.name;
            ConfigError::Value { key, why: format!("{why} (expected {})", known.takes) }
        })?;
        *self = changed;
        Ok(())
    }
}

fn names(names: impl Iterator<Item = &'static str>) -> String {
    names.collect::<Vec<_>>().join(", ")
}
