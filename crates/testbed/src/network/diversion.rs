//! The diversion of a router's TCP to a transparent proxy in its namespace.
//!
//! It is made as Linux's `tproxy.rst` has it.

use crate::proxy::PORT;
use bentpipe_linux::netns::{Namespace, NetnsError};

/// The mark of packets that go to the proxy, and the table of routes that keeps them here.
const MARK: u32 = 1;
const TABLE: u32 = 100;
/// The table of rules that marks them.
const RULES: &str = "bentpipe-proxy";

/// Diverts the TCP that comes in by these devices.
///
/// # Errors
/// `ip` or `nft` refuses.
pub fn begin(namespace: &Namespace, devices: &[&str]) -> Result<(), NetnsError> {
    let devices: Vec<String> = devices.iter().map(|device| format!("\"{device}\"")).collect();
    let devices = devices.join(", ");
    namespace.ip(&format!(
        "rule add fwmark {MARK} lookup {TABLE}\nroute add local default dev lo table {TABLE}\n"
    ))?;
    namespace.nft(&format!(
        "table ip {RULES} {{\nchain divert {{\ntype filter hook prerouting priority mangle;\n\
         iifname {{ {devices} }} meta l4proto tcp tproxy to :{PORT} meta mark set {MARK} accept\n}}\n}}\n"
    ))
}

/// Removes it, or a part of it that a killed command has made.
///
/// # Errors
/// `nft` refuses.
pub fn end(namespace: &Namespace) -> Result<(), NetnsError> {
    namespace.nft(&format!("table ip {RULES} {{}}\ndelete table ip {RULES}\n"))?;
    let _ = namespace.ip(&format!("rule delete fwmark {MARK} lookup {TABLE}\n"));
    let _ = namespace.ip(&format!("route flush table {TABLE}\n"));
    Ok(())
}

/// Tells whether a socket of this namespace listens on this port of TCP.
pub fn is_listening(namespace: &Namespace, port: u16) -> bool {
    super::daemon::is_listening(namespace, port)
}
