//! Programs at the gateways' nodes: `bentpipe gateway`, or a foreign proxy with its diversion.

use super::daemon::{self, Ready};
use super::{Network, NetworkError, diversion};
use crate::proxy::{PORT, ProxyCommand};
use bentpipe_linux::netns::Namespace;

/// The program at a gateway's node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GatewayProgram {
    /// `bentpipe gateway`, with this `gateway.toml`.
    Bentpipe(String),
    /// A foreign proxy, to which the links' TCP is diverted.
    Foreign(ProxyCommand),
    /// None: the node is a router.
    Router,
}

impl Network {
    /// Starts `program` at the node of this number.
    ///
    /// # Errors
    /// [`NetworkError`].
    pub fn start_gateway(
        &mut self,
        number: usize,
        program: &GatewayProgram,
    ) -> Result<(), NetworkError> {
        let node = &self.state.layout.nodes[number];
        let namespace = Namespace::existing(&node.namespace);
        let what = daemon_name(&node.name);
        match program {
            GatewayProgram::Router => {
                self.state.routers.insert(number);
                self.folder.save(&self.state)
            }
            GatewayProgram::Bentpipe(text) => {
                let file = format!("gateway-{number}.toml");
                self.folder.write(&file, text)?;
                let mut command = namespace.command(&self.binary);
                command.args(["gateway", "--config"]).arg(self.folder.path().join(file));
                self.start(what, &mut command, Ready::Says("bentpipe gateway: ready"))
            }
            GatewayProgram::Foreign(proxy) => {
                let file = self.folder.path().join(format!("proxy-{number}.cfg"));
                if let Some(text) = proxy.configuration() {
                    self.folder.write(&format!("proxy-{number}.cfg"), &text)?;
                }
                let mut words = proxy.words(&file);
                let mut command = namespace.command(words.next().unwrap_or_default());
                command.args(words);
                self.start(what, &mut command, Ready::Listens(&namespace, PORT))?;
                self.divert(number, &namespace)
            }
        }
    }

    /// Ends the program at the node of this number at once, and its diversion.
    ///
    /// # Errors
    /// The kernel refuses, or the state cannot be written.
    pub fn stop_gateway(&mut self, number: usize) -> Result<(), NetworkError> {
        let node = &self.state.layout.nodes[number];
        let namespace = Namespace::existing(&node.namespace);
        let what = daemon_name(&node.name);
        if self.state.diverted.contains(&number) {
            diversion::end(&namespace)?;
        }
        if let Some(daemon) = self.state.daemon(&what) {
            daemon::end(&[daemon.process]);
        }
        self.state.diverted.remove(&number);
        self.state.routers.remove(&number);
        self.state.daemons.retain(|daemon| daemon.what != what);
        self.folder.save(&self.state)
    }

    /// What the gateway at the node of this number answers to `status`, as JSON.
    ///
    /// # Errors
    /// It does not run.
    pub fn gateway_status(&self, number: usize) -> Result<String, NetworkError> {
        let namespace = Namespace::existing(&self.state.layout.nodes[number].namespace);
        let binary = self.binary.display().to_string();
        Ok(namespace.output(&binary, &["gateway", "status", "--json"])?)
    }

    /// Diverts the TCP of all links of a node to the proxy there.
    fn divert(&mut self, number: usize, namespace: &Namespace) -> Result<(), NetworkError> {
        self.state.diverted.insert(number);
        self.folder.save(&self.state)?;
        let devices = self.state.layout.devices(number);
        let devices: Vec<&str> = devices.map(|(_, device)| device).collect();
        Ok(diversion::begin(namespace, &devices)?)
    }
}

/// The name of the process at a gateway's node.
pub(super) fn daemon_name(node: &str) -> String {
    format!("gateway {node}")
}
