//! A package's files in addition to the program: man pages, completions, a `gateway.toml`.
//!
//! All are made from the declarations of the command line and the keys, by `bentpipe generate
//! FOLDER`, which help does not show: packagers alone need it.

mod manual;

use bentpipe_config::gateway::commented;
use clap::{Arg, Command, value_parser};
use clap_complete::{Shell, generate_to};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The subcommand's name.
pub(crate) const NAME: &str = "generate";

/// For these shells there are completions.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// The subcommand, for a `command` of either program.
pub(crate) fn with_subcommand(command: Command) -> Command {
    let folder = Arg::new("folder").value_parser(value_parser!(PathBuf)).required(true);
    let generate = Command::new(NAME)
        .about("Write the files of a package: man pages, completions, gateway.toml")
        .hide(true)
        .arg(folder);
    command.subcommand(generate)
}

/// A program, as its package knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Packaged {
    pub(crate) name: &'static str,
    /// Of the manual: 1, or 8 for what is root's.
    pub(crate) section: &'static str,
    /// It is the one to which `gateway.toml` belongs.
    pub(crate) has_file: bool,
}

/// Writes all that belongs to `program`, whose command line is `command`, into `folder`.
///
/// # Errors
/// When something cannot be written.
pub(crate) fn write(program: Packaged, command: Command, folder: &Path) -> io::Result<()> {
    let place = |name: &str| -> io::Result<PathBuf> {
        let place = folder.join(name);
        fs::create_dir_all(&place)?;
        Ok(place)
    };
    let completions = place("completions")?;
    let mut completed = command.clone();
    for shell in SHELLS {
        generate_to(shell, &mut completed, program.name, &completions)?;
    }
    let section = program.section;
    let pages = place(&format!("man{section}"))?;
    for (name, page) in manual::of_commands(command, section) {
        fs::write(pages.join(format!("{name}.{section}")), page)?;
    }
    if program.has_file {
        fs::write(place("man5")?.join("gateway.toml.5"), manual::of_the_file())?;
        fs::write(folder.join("gateway.toml"), commented())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Args;

    #[test]
    fn a_package_has_pages_completions_and_a_file() {
        let folder = std::env::temp_dir().join(format!("bentpipe-package-{}", std::process::id()));
        let command = crate::command::Arguments::augment_args(Command::new("bentpipe-gateway"));
        let program = Packaged { name: "bentpipe-gateway", section: "8", has_file: true };
        write(program, command, &folder).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).expect(name);
        for (page, says) in [
            ("man8/bentpipe-gateway.8", "bentpipe\\-gateway\\-status(8)"),
            ("man8/bentpipe-gateway-record.8", "pcapng"),
            ("man5/gateway.toml.5", "flows\\-per\\-client"),
            ("completions/bentpipe-gateway.bash", "--config"),
            ("completions/_bentpipe-gateway", "--config"),
            ("completions/bentpipe-gateway.fish", "config"),
            ("gateway.toml", "#rate = "),
        ] {
            assert!(read(page).contains(says), "{page}: {}", read(page));
        }
        assert!(!read("man8/bentpipe-gateway.8").contains("watchdog(8)"), "what help hides");
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn both_units_are_the_same_but_for_the_instance() {
        let one = include_str!("../../../../packaging/systemd/bentpipe-gateway.service");
        let many = include_str!("../../../../packaging/systemd/bentpipe-gateway@.service");
        let of_one = many
            .replace("gateway %i:", "gateway:")
            .replace(" --name %i", "")
            // What one that stops leaves behind is removed with its directory.
            .replace("bentpipe/gateway-%i", "bentpipe/gateway")
            .replace("/%i.toml", "/gateway.toml");
        assert_eq!(of_one, one);
    }
}
