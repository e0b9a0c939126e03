//! Foreign gateways: transparent TCP proxies that take a gateway's place on real stacks.

use bentpipe_config::TcpLayer;
use bentpipe_config::reader::{Reader, Result};
use bentpipe_core::tcp::connection::ConnectionConfig;

/// A foreign program that splits connections in a gateway's place.
#[derive(Debug, Clone, PartialEq)]
pub struct ForeignProxy {
    /// Its name; a testbed is given the command.
    pub name: String,
    /// The TCP of its machine, by which its sockets send.
    pub tcp: Box<ConnectionConfig>,
}

impl ForeignProxy {
    /// Reads the keys of `[gateway.NAME]`, if they name a proxy.
    pub(crate) fn read(
        reader: &Reader<'_>,
        below: ConnectionConfig,
    ) -> Result<Option<ForeignProxy>> {
        let tcp = reader.or("proxy-tcp", TcpLayer::default())?.over(below);
        let Some(name) = reader.maybe::<String>("proxy")? else { return Ok(None) };
        if name.is_empty() || name.contains(|c: char| c == '=' || c.is_whitespace()) {
            return Err(reader.bad("proxy", "a name without blanks and `=`, such as pepsal"));
        }
        Ok(Some(ForeignProxy { name, tcp: Box::new(tcp) }))
    }
}

/// A gateway that only a testbed can play.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "gateway.{gateway}.proxy: a foreign program, which only a testbed can play (`bentpipe testbed run`)"
)]
pub struct NotSimulated {
    /// The gateway's name.
    pub gateway: String,
}
