//! The programs that run on the five hosts.

use bentpipe_linux::netns::Namespace;
use std::path::PathBuf;
use std::process::Command;

/// `bentpipe`, and what gateways are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Programs {
    /// `bentpipe`.
    pub bentpipe: PathBuf,
    /// `bentpipe-gateway`; without it gateways are `bentpipe gateway`.
    pub gateway: Option<PathBuf>,
}

impl Programs {
    /// The gateway's command in `namespace`, and how it calls itself.
    pub(super) fn gateway(&self, namespace: &Namespace) -> (Command, &'static str) {
        match &self.gateway {
            Some(program) => (namespace.command(program), "bentpipe-gateway"),
            None => {
                let mut command = namespace.command(&self.bentpipe);
                command.arg("gateway");
                (command, "bentpipe gateway")
            }
        }
    }
}
