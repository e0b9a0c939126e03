//! The gateway's configuration file.

use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate, parse_duration};
use bentpipe_gateway::{AddOptions, Config};
use serde::{Deserialize, Deserializer, de};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The file says something that we do not understand.
    #[error("{}:{line}: {message}", path.display())]
    Parse { path: PathBuf, line: usize, message: String },
}

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct File {
    pub(crate) interfaces: Interfaces,
    #[serde(default)]
    satellite: Satellite,
    #[serde(default)]
    limits: Limits,
}

/// The two sides.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Interfaces {
    pub(crate) lan: Vec<String>,
    pub(crate) satellite: Vec<String>,
}

/// What is known of the satellite link, and how to use it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Satellite {
    #[serde(deserialize_with = "text")]
    rate: Option<Rate>,
    #[serde(deserialize_with = "duration")]
    round_trip: Option<Duration>,
    initial_window: Option<u32>,
    add_options: Option<Adding>,
}

/// How much the gateway may hold.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Limits {
    #[serde(deserialize_with = "text")]
    memory: Option<Bytes>,
    #[serde(deserialize_with = "text")]
    stream: Option<Bytes>,
    flows: Option<usize>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Adding {
    KnownPeer,
    Always,
    Never,
}

impl File {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &Path) -> Result<File, ConfigError> {
        let source = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
        toml::from_str(&source).map_err(|error| {
            let before = error.span().map_or("", |span| &source[..span.start]);
            ConfigError::Parse {
                path: path.to_owned(),
                line: before.matches('\n').count() + 1,
                message: error.message().replace('\n', ", "),
            }
        })
    }

    /// The gateway's parameters: the defaults, and what the file says.
    pub(crate) fn gateway(&self) -> Config {
        let mut config = Config::default();
        let Satellite { rate, round_trip, initial_window, add_options } = self.satellite;
        config.satellite.rate = rate;
        config.satellite.round_trip = round_trip;
        if let Some(segments) = initial_window {
            config.satellite.initial_window = segments;
        }
        if let Some(adding) = add_options {
            config.add_options = match adding {
                Adding::KnownPeer => AddOptions::KnownPeer,
                Adding::Always => AddOptions::Always,
                Adding::Never => AddOptions::Never,
            };
        }
        let Limits { memory, stream, flows } = self.limits;
        config.memory = memory.unwrap_or(config.memory);
        config.stream_capacity = stream.unwrap_or(config.stream_capacity);
        config.max_flows = flows.unwrap_or(config.max_flows);
        config
    }
}

fn text<'de, D: Deserializer<'de>, T: FromStr<Err: Display>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    let text = String::deserialize(from)?;
    text.parse().map(Some).map_err(de::Error::custom)
}

fn duration<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(from)?;
    parse_duration(&text).map(Some).map_err(de::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<File, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gateway.toml");
        std::fs::write(&path, text).unwrap();
        File::read(&path)
            .map_err(|error| error.to_string().replace(&path.display().to_string(), "FILE"))
    }

    const INTERFACES: &str = "[interfaces]\nlan = [\"a\"]\nsatellite = [\"b\"]\n";

    #[test]
    fn what_the_file_says_overrides_the_defaults() {
        let text = format!(
            "{INTERFACES}[satellite]\nrate = \"8Mbit/s\"\nround_trip = \"500ms\"\nadd_options = \"never\"\n[limits]\nmemory = \"64MiB\"\n"
        );
        let config = read(&text).unwrap().gateway();
        assert_eq!(config.satellite.bandwidth_delay_product(), Some(500_000));
        assert_eq!(config.memory, Bytes::new(64 << 20));
        assert_eq!(config.add_options, AddOptions::Never);
        assert_eq!(config.stream_capacity, Config::default().stream_capacity);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let unknown = read(&format!("{INTERFACES}[satellite]\nrat = \"8Mbit/s\"\n")).unwrap_err();
        assert!(unknown.starts_with("FILE:5: unknown field `rat`"), "{unknown}");
        let unit = read(&format!("{INTERFACES}[satellite]\nrate = \"8\"\n")).unwrap_err();
        assert!(unit.starts_with("FILE:5: ") && unit.contains("8Mbit/s"), "{unit}");
        let missing = read("[interfaces]\nlan = [\"a\"]\n").unwrap_err();
        assert!(missing.contains("missing field `satellite`"), "{missing}");
    }
}
