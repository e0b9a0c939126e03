//! Runs `ip` and `nft`: their languages are stable, readable in a log, and all or nothing where it
//! matters (`nft -f` is one transaction); netlink libraries would bring more code than they save.

use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// It is not installed.
    #[error("`{program}` is missing: install the Debian package {package}")]
    Missing {
        /// The command.
        program: &'static str,
        /// What brings it.
        package: &'static str,
    },
    /// It could not be run.
    #[error("cannot run `{program}`: {source}")]
    Run {
        /// The command.
        program: &'static str,
        /// Why not.
        source: io::Error,
    },
    /// It failed.
    #[error("`{command}` failed: {message}")]
    Failed {
        /// The command with its arguments.
        command: String,
        /// The first line that it wrote to its standard error.
        message: String,
    },
}

/// Runs `program` with `input` on its standard input and returns its standard output.
///
/// It runs in a process group of its own: a second Ctrl-C must not stop the clearing up.
///
/// # Errors
/// [`CommandError`].
pub(crate) fn run(
    program: &'static str,
    arguments: &[&str],
    input: &str,
) -> Result<String, CommandError> {
    let spawn = |path: &str| {
        Command::new(path)
            .args(arguments)
            // Some answers are told by their words.
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
    };
    let child = match spawn(program) {
        // Not every PATH has the system's directories.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            spawn(&format!("/usr/sbin/{program}"))
        }
        other => other,
    };
    let failed = |source| CommandError::Run { program, source };
    let mut child = child.map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => {
            let package = match program {
                "nft" => "nftables",
                "ip" => "iproute2",
                _ => "iptables",
            };
            CommandError::Missing { program, package }
        }
        _ => failed(source),
    })?;
    // The input is far smaller than a pipe's buffer, so this cannot block.
    if let Some(mut stdin) = child.stdin.take() {
        // A command that fails early says why on its standard error.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(failed)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let message = errors.lines().find(|line| !line.trim().is_empty()).unwrap_or("no message");
    Err(CommandError::Failed {
        command: [&[program], arguments].concat().join(" "),
        message: message.trim().to_owned(),
    })
}
