//! The gateway's configuration file, as it is found on this host. What it may say is declared by
//! `bentpipe_config::gateway`, as scenarios say the same.

use bentpipe_config::DocumentError;
use bentpipe_config::gateway::GatewayFile;
use std::fmt::Display;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Far more than anybody writes; what has no end, a device for instance, is not read to its end.
const MAX_FILE: u64 = 1 << 20;

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It does not end.
    #[error("cannot read {}: more than 1MiB", path.display())]
    Long {
        /// Which.
        path: PathBuf,
    },
    /// The file says something that we do not understand, or that cannot work.
    #[error(transparent)]
    Parse(#[from] DocumentError),
    /// An interface is not there.
    #[error("{position}: {message}")]
    Interface {
        /// Where it is named.
        position: String,
        /// What is wrong with it.
        message: String,
    },
}

impl ConfigError {
    /// Whether the file may not be read.
    pub(crate) fn is_forbidden(&self) -> bool {
        matches!(self, ConfigError::Read { source, .. } if source.kind() == io::ErrorKind::PermissionDenied)
    }
}

/// Reads the file at `path`.
pub(crate) fn read(path: &Path) -> Result<GatewayFile, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    let mut source = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    // What was cut is longer than it may be, whether the cut hit a character or not.
    let read = file.take(MAX_FILE + 1).read_to_string(&mut source);
    if source.len() as u64 > MAX_FILE {
        return Err(ConfigError::Long { path: path.to_owned() });
    }
    read.map_err(failed)?;
    let memory = nix::sys::sysinfo::sysinfo().map_or(u64::MAX, |info| info.ram_total());
    Ok(GatewayFile::parse(&path.display().to_string(), &source, memory)?)
}

/// `message` about the interface `name`, with the position where it stands.
pub(crate) fn at_interface(file: &GatewayFile, name: &str, message: &impl Display) -> ConfigError {
    let found = file.lan.iter().chain(&file.satellite).find(|interface| interface.name == name);
    let position = found.map_or_else(String::new, |interface| interface.position.to_string());
    ConfigError::Interface { position, message: message.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> GatewayFile {
        GatewayFile::parse("example", text, 1 << 40).unwrap_or_else(|error| panic!("{error}"))
    }

    fn help() -> String {
        let command = clap::Command::new("gateway");
        let command = <crate::command::Arguments as clap::Args>::augment_args(command);
        let help = command.get_after_long_help().expect("an example").to_string();
        let (_, example) = help.split_once("gateway.toml:\n").expect("an example");
        let (example, _) = example.split_once("  bentpipe gateway flows").expect("its end");
        example.to_owned()
    }

    #[test]
    fn what_is_printed_as_an_example_is_taken() {
        let readme = include_str!("../../../../README.md");
        let (_, example) = readme.split_once("```toml\n").expect("an example");
        let (example, _) = example.split_once("```").expect("its end");
        parse(example);
        parse(&help());
    }

    #[test]
    fn the_help_names_every_key_but_most_tcp_settings() {
        let help = help();
        for section in bentpipe_config::gateway::SECTIONS {
            let of_gateways = section.path.starts_with("gateway.");
            if !of_gateways
                || section.path.ends_with("TCP settings")
                || section.path == "gateway.NAME"
            {
                continue;
            }
            for field in section.fields.iter().filter(|field| field.key != "mtu") {
                let table = [format!("[{}]", field.key), format!("[policy.{}]", field.key)];
                let key = format!("    {} = ", field.key);
                let is_named =
                    help.contains(&key) || table.iter().any(|table| help.contains(table));
                assert!(
                    is_named,
                    "{} has `{}`, which --help does not name",
                    section.path, field.key
                );
                let missing = field.choices().iter().find(|name| !help.contains(**name));
                assert_eq!(missing, None, "`{}`", field.key);
            }
        }
    }

    #[test]
    fn a_file_without_end_is_not_read_to_its_end() {
        let error = read(Path::new("/dev/zero")).unwrap_err().to_string();
        assert!(error.contains("/dev/zero") && error.contains("1MiB"), "{error}");
    }

    #[test]
    fn an_interface_that_is_missing_is_named_with_its_place() {
        let file = parse("[interfaces]\nlan = [\n\"a\",\n\"b\"]\nsatellite = [\"c\"]\n");
        let message = at_interface(&file, "b", &"there is none").to_string();
        assert_eq!(message, "example:4:1: there is none");
    }
}
