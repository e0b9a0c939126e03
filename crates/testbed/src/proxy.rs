//! Commands of foreign gateways: transparent TCP proxies, by the names that scenarios give them.

use serde::{Deserialize, Serialize};
use std::path::{self, Path};
use std::str::FromStr;

/// The port to which a gateway's connections are diverted, in its own namespace.
pub const PORT: u16 = 5000;

/// Programs whose arguments we know: a bare path is enough for them.
const KNOWN: [(&str, &str); 2] = [
    // With the machine's limit on open files PEPsal keeps to what it can have.
    ("pepsal", "-p {port} -c 1024"),
    ("haproxy", "-db -f {file}"),
];

/// The configuration of a known program that takes one from a file: HAProxy as a transparent TCP
/// proxy, whose server is the connection's own destination.
const CONFIGURATIONS: [(&str, &str); 1] = [(
    "haproxy",
    "\
defaults
    mode tcp
    timeout connect 30s
    timeout client 1h
    timeout server 1h
    option splice-request
    option splice-response
listen diverted
    bind :{port} transparent
    source 0.0.0.0 usesrc client
    server destination 0.0.0.0
",
)];

/// A foreign program's name, and the command that starts it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProxyCommand {
    /// Its name in scenarios.
    pub name: String,
    /// The program and its arguments, in which `{port}` stands for [`PORT`], and `{file}` for the
    /// place of its configuration.
    words: Vec<String>,
}

impl ProxyCommand {
    /// The program and its arguments, as they are started: its configuration is in `file`.
    pub fn words(&self, file: &Path) -> impl Iterator<Item = String> + '_ {
        let (port, file) = (PORT.to_string(), file.display().to_string());
        self.words.iter().map(move |word| word.replace("{port}", &port).replace("{file}", &file))
    }

    /// The text of the file that a known program takes, if it does.
    pub fn configuration(&self) -> Option<String> {
        self.words.iter().find(|word| word.contains("{file}"))?;
        let (_, text) = CONFIGURATIONS.iter().find(|(known, _)| *known == self.name)?;
        Some(text.replace("{port}", &PORT.to_string()))
    }
}

/// `--proxy` without a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("NAME=COMMAND, such as pepsal=/opt/pepsal or mine='/opt/mine --listen {{port}}'")]
pub struct NoCommand;

impl FromStr for ProxyCommand {
    type Err = NoCommand;

    /// Reads `NAME=COMMAND`, whose command is split at blanks.
    fn from_str(text: &str) -> Result<ProxyCommand, NoCommand> {
        let (name, command) = text.split_once('=').ok_or(NoCommand)?;
        let mut words: Vec<String> = command.split_whitespace().map(str::to_owned).collect();
        let program = words.first_mut().filter(|_| !name.is_empty()).ok_or(NoCommand)?;
        // A later command starts it from elsewhere.
        if program.contains('/')
            && let Ok(absolute) = path::absolute(&*program)
        {
            *program = absolute.to_string_lossy().into_owned();
        }
        if let [_] = words[..] {
            let usual = KNOWN.iter().find(|(known, _)| *known == name);
            let usual = usual.into_iter().flat_map(|(_, arguments)| arguments.split(' '));
            words.extend(usual.map(str::to_owned));
        }
        Ok(ProxyCommand { name: name.to_owned(), words })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn started(text: &str) -> String {
        let command: ProxyCommand = text.parse().unwrap();
        command.words(Path::new("/run/x.cfg")).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_known_program_needs_only_its_path() {
        assert_eq!(started("pepsal=/opt/pepsal"), "/opt/pepsal -p 5000 -c 1024");
        assert_eq!(started("pepsal=/opt/pepsal -v -p {port}"), "/opt/pepsal -v -p 5000");
        assert_eq!(started("mine=mine"), "mine");
        assert_eq!(started("mine=/a/mine  --at=0.0.0.0:{port}"), "/a/mine --at=0.0.0.0:5000");
    }

    #[test]
    fn a_program_with_a_file_has_its_text() {
        assert_eq!(started("haproxy=haproxy"), "haproxy -db -f /run/x.cfg");
        let text = |command: &str| command.parse::<ProxyCommand>().unwrap().configuration();
        assert!(text("haproxy=haproxy").unwrap().contains("bind :5000 transparent"));
        assert_eq!(text("haproxy=haproxy -f /etc/my.cfg"), None);
        assert_eq!(text("mine=/a/mine {file}"), None);
    }

    #[test]
    fn a_relative_path_is_one_from_here() {
        let here = std::env::current_dir().unwrap();
        assert_eq!(started("mine=./mine"), here.join("mine").display().to_string());
    }

    #[test]
    fn nothing_is_no_command() {
        for text in ["pepsal", "pepsal=", "=/opt/pepsal", ""] {
            assert_eq!(text.parse::<ProxyCommand>(), Err(NoCommand));
        }
    }
}
