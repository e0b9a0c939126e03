//! Facts about network interfaces, asked of `ip`: `/sys` may show another namespace's.

use crate::command::{CommandError, run};
use nix::net::if_::{if_indextoname, if_nametoindex};
use serde_json::Value;
use std::fs;

/// Why an interface's properties are not known.
#[derive(Debug, thiserror::Error)]
pub enum InterfaceError {
    /// `ip` failed, perhaps because there is no such interface.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// An interface does not exist.
    #[error("there is no interface {0} in this network namespace")]
    Unknown(String),
    /// The kernel does not forward.
    // The first alone does nothing where it is 1 already.
    #[error(
        "{0} does not forward IPv4: run `sysctl -w net.ipv4.ip_forward=1 net.ipv4.conf.{0}.forwarding=1`"
    )]
    Forwarding(String),
    /// Its packets have a header of another kind than we know.
    #[error("{device} is of a kind ({kind}) on which packets cannot be taken")]
    Kind {
        /// Its name.
        device: String,
        /// What kind.
        kind: String,
    },
    /// `ip` said something unexpected.
    #[error("`ip` does not tell the MTU of {0}")]
    Mtu(String),
}

/// The interface's own name.
///
/// `name` may be another one of it (`altname` of ip-link(8)), and stays where there is none.
pub fn own_name(name: &str) -> String {
    let found = if_nametoindex(name).and_then(if_indextoname).ok();
    found.and_then(|found| found.into_string().ok()).unwrap_or_else(|| name.to_owned())
}

/// Whether the interfaces exist and forward.
///
/// # Errors
/// [`InterfaceError`], for the first that does not.
pub fn check_forwarding(interfaces: &[String]) -> Result<(), InterfaceError> {
    for name in interfaces {
        if if_nametoindex(name.as_str()).is_err() {
            return Err(InterfaceError::Unknown(name.clone()));
        }
        let name = own_name(name);
        let forwarding = fs::read_to_string(format!("/proc/sys/net/ipv4/conf/{name}/forwarding"));
        if forwarding.is_ok_and(|text| text.trim() == "0") {
            return Err(InterfaceError::Forwarding(name));
        }
    }
    Ok(())
}

/// What an interface's packets have in front of them, as `ip` calls it: `ether`, `none`, `ppp` and
/// so on; `xfrm` of an interface of IPsec's.
///
/// # Errors
/// [`CommandError`].
fn link_type(name: &str) -> Result<String, CommandError> {
    let link = show(name)?;
    let kind = &link["linkinfo"]["info_kind"];
    let of = if kind == "xfrm" { kind } else { &link["link_type"] };
    Ok(of.as_str().unwrap_or_default().to_owned())
}

/// What an interface's packets have in front of the IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum L2 {
    /// An Ethernet header.
    Ethernet,
    /// Nothing: TUN, WireGuard, PPP, tunnels.
    Nothing,
}

/// That of the interface of this name.
///
/// # Errors
/// [`InterfaceError`], also if it is none of these.
pub fn l2(name: &str) -> Result<L2, InterfaceError> {
    match &*link_type(name)? {
        "ether" => Ok(L2::Ethernet),
        "none" | "ppp" | "tunnel" | "tunnel6" | "ipip" | "sit" | "gre" | "gre6" | "rawip" => {
            Ok(L2::Nothing)
        }
        // At an XFRM interface what was decrypted passes, as it would lose what its policy asks
        // for: half of a connection.
        kind => Err(InterfaceError::Kind { device: name.to_owned(), kind: kind.to_owned() }),
    }
}

/// The VRF that an interface is in.
///
/// # Errors
/// [`CommandError`].
pub fn vrf(name: &str) -> Result<Option<String>, CommandError> {
    master(name, "vrf")
}

/// The bridge of which an interface is a port.
///
/// # Errors
/// [`CommandError`].
pub fn bridge(name: &str) -> Result<Option<String>, CommandError> {
    master(name, "bridge")
}

fn master(name: &str, kind: &str) -> Result<Option<String>, CommandError> {
    let link = show(name)?;
    let is_such = link["linkinfo"]["info_slave_kind"] == kind;
    Ok(link["master"].as_str().filter(|_| is_such).map(str::to_owned))
}

/// `ip`'s description of an interface.
fn show(name: &str) -> Result<Value, CommandError> {
    let text = run("ip", &["-j", "-d", "link", "show", "dev", name], "")?;
    let mut answer: Value = serde_json::from_str(&text).unwrap_or_default();
    Ok(answer[0].take())
}

/// An interface that may be a gateway's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// Its name.
    pub name: String,
    /// A default route leads there.
    pub has_default_route: bool,
}

/// The interfaces of this network namespace but for the loopback, as `ip` tells them.
pub fn list() -> Vec<Listed> {
    let links = run("ip", &["-j", "link", "show"], "").unwrap_or_default();
    let routes = run("ip", &["-j", "route", "show", "default"], "").unwrap_or_default();
    let parsed = |text: &str| serde_json::from_str::<Vec<Value>>(text).unwrap_or_default();
    let routes = parsed(&routes);
    let listed = |link: &Value| {
        let name = link["ifname"].as_str().filter(|_| link["link_type"] != "loopback")?;
        let has_default_route = routes.iter().any(|route| route["dev"] == name);
        Some(Listed { name: name.to_owned(), has_default_route })
    };
    parsed(&links).iter().filter_map(listed).collect()
}

/// The largest IP packet, in bytes, that every one of `interfaces` carries; 65,535 if none of them
/// is smaller.
///
/// # Errors
/// [`InterfaceError`].
pub fn min_mtu(interfaces: &[String]) -> Result<u16, InterfaceError> {
    let mut min = u64::from(u16::MAX);
    for name in interfaces {
        let mtu = show(name)?["mtu"].as_u64().ok_or_else(|| InterfaceError::Mtu(name.clone()))?;
        min = min.min(mtu);
    }
    Ok(u16::try_from(min).unwrap_or(u16::MAX))
}
