//! Turns forwarded packets off their way through the kernel, into TUN devices and back.
//!
//! There are two sides, each with its interfaces and one TUN device, so that the device tells which
//! side a packet came from:
//!
//! ```text
//! side 0 ── lan0 ─▶ mark 1 ─▶ table 1 ─▶ tun0 ─read▶ we ─write▶ tun0 ─▶ main table ─▶ sat0 ── side 1
//! side 0 ── lan0 ◀─ main table ◀─ tun1 ◀write─ we ◀read─ tun1 ◀─ table 2 ◀─ mark 2 ◀─ sat0 ── side 1
//! ```
//!
//! **The convention for writing**: what is sent on behalf of side *i* is written into TUN device
//! *i*. A firewall may then treat the device like that side's interfaces, and connection tracking
//! sees each leg whole (below). It comes in with the TUN device as its interface, so it is not
//! marked again, and the main table routes it.
//!
//! # How packets are chosen
//! Our nft table marks a packet if it came in on an interface of one side *and* the routing table
//! would send it out of an interface of the other side (`fib daddr oifname`), with the packet's own
//! mark and without one: what we write has none. So packets to this host, between two interfaces of
//! one side, and those that will leave elsewhere are left alone. That test sees routes chosen by
//! addresses and marks, but not rules with `iif`. `ip rule` (with the packet's interface and our mark)
//! sends what is marked to a table whose only route is the TUN device; the rule for local addresses
//! comes first.
//!
//! A packet with a mark of somebody else in our bits is not marked. (If they are exactly our mark of that
//! side, `ip rule` cannot tell.) Bits beside ours stay, and ours
//! are taken off again in the forward hook, once the route is chosen: rules that compare the whole mark
//! find there what they know. We mark behind everybody else in prerouting, so nobody clears our bits.
//!
//! ICMP errors about what we have written come back to the device of the side where it went. Routers'
//! errors come in there. This host's own, where a route's MTU is less than its interface's, begin in
//! the output hook, where a mark makes the kernel choose the route again; their source is an address
//! of this host, hence `accept_local` for those that are written back. The rule that leads them to us
//! compares all bits of a mark of its own: programs of this host may set our bits for reasons of theirs (SO_MARK).
//!
//! When the process dies, its devices and the routes over them vanish; rule and marks remain, find
//! an empty table, and the packet goes by the main table: plain forwarding, at once. The next start
//! replaces what remained.
//!
//! # Reverse path filters
//! What we write has a source that routes elsewhere than the TUN device. The TUN devices therefore
//! have an address (without one, `rp_filter` 1 and 2 drop everything) and `rp_filter=2`, which wins
//! over `conf.all.rp_filter=1` because the kernel takes the larger. The address is 192.0.0.8
//! (RFC 7600's dummy). On the real interfaces `rp_filter=1` may stay: the kernel looks the source
//! up without the mark, or, with `src_valid_mark=1` (WireGuard's wg-quick sets it), with it, but
//! never with the interface, so our rules, which name the interface, do not apply.
//! IPv6 has no `rp_filter`; nft rules that do the same (firewalld's) are found by [`checks`].
//!
//! # Connection tracking, firewalls and NAT
//! A diverted packet, or what stands for it, passes the forward hook twice: `lan0 → tun0` and
//! `tun0 → sat0`. Tracked as one connection, the two legs contradict each other (a gateway
//! acknowledges early, an emulator shows every segment twice), and `ct state invalid drop` drops.
//! So where connection tracking is in use, the leg of side 0 is tracked in a zone of its own: each leg
//! is one sound connection, `ct state established,related accept` holds on both, and source NAT on
//! side 1's interfaces stays in zone 0 where its replies look for it. The zone is for what comes in from
//! side 0 and is routed to side 1, and for what we write for side 0, with ICMP errors about TCP. What side 0 says to
//! this host and to third interfaces stays in zone 0: its answers do. `zones` tells what becomes of
//! packets that NAT or a mark sends elsewhere afterwards. Marking happens behind destination
//! NAT, so replies to masqueraded connections are diverted as well. New connections cross the
//! forward chain with `tun0` in place of `sat0`, then in place of `lan0`: chains with a drop policy
//! need two rules, which [`checks`] prints. To accept all that
//! comes out of the TUN devices opens nothing: it has crossed the same chain on its way in. Source NAT
//! that does not name its output interface would catch packets on their way into the TUN device:
//! [`checks`] says so.
//!
//! # Hops
//! The packet is forwarded twice, so its TTL falls by two unless the writer restores one.

pub mod checks;
mod config;
mod finding;
mod firewall;
mod links;
mod making;
mod policy;
mod rules;
mod settings;
mod standing;
mod zones;

pub use crate::command::CommandError;
use crate::command::run;
use crate::instance::{Instance, InstanceError};
use crate::interface::{InterfaceError, check_forwarding};
use crate::tun::{Tun, TunError};
use checks::{Finding, Shown};
pub use config::{DivertConfig, Selector, Side};
pub use finding::Effect;
use firewall::blame;
use links::Links;
use policy::Policies;
use settings::Settings;
use std::io;
use std::path::Path;

/// Why nothing is diverted. Nothing is left set up then.
#[derive(Debug, thiserror::Error)]
pub enum DivertError {
    /// A side has no interface.
    #[error("side {0} has no interface")]
    NoInterfaces(usize),
    /// An interface does not exist, or does not forward.
    #[error(transparent)]
    Interface(#[from] InterfaceError),
    /// The interface's name would have a meaning of its own in nft's language.
    #[error("interface name `{0}` is not supported: letters, digits and `._-@` only")]
    InterfaceName(String),
    /// An interface belongs to both sides, or is named twice.
    #[error("interface {0} is named twice")]
    Twice(String),
    /// There is one of us already.
    #[error(transparent)]
    Instance(#[from] InstanceError),
    /// A TUN device.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// `ip` or `nft`.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// A kernel setting.
    #[error("cannot set {path}: {source}{}", writable(source))]
    Sysctl {
        /// The file below `/proc/sys`.
        path: String,
        /// What the kernel said.
        source: io::Error,
    },
}

/// How a setting of the kernel's becomes writable, if that is what is wrong.
fn writable(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            ". Let the gateway write below /proc/sys/net: in a systemd unit `ProtectKernelTunables=no`, \
             in LXC `lxc.mount.auto = proc:rw`, in Docker `--privileged`; or run `mount -o remount,rw /proc/sys`"
        }
        _ => "",
    }
}

/// Packets are diverted for as long as this lives. Dropping it puts everything back.
#[derive(Debug)]
pub struct Divert {
    config: DivertConfig,
    findings: Vec<Finding>,
    leftovers: Vec<String>,
    _instance: Instance,
}

impl Divert {
    /// Creates the TUN devices and diverts the chosen packets into them.
    /// What a dead predecessor left is replaced.
    ///
    /// # Errors
    /// [`DivertError`]; nothing is left set up.
    pub fn set_up(config: DivertConfig) -> Result<(Divert, [Tun; 2]), DivertError> {
        check_interfaces(&config)?;
        let instance = Instance::lock(&config.service)?;
        let tuns = [
            Tun::open(&config.sides[0].tun, config.offload)?,
            Tun::open(&config.sides[1].tun, config.offload)?,
        ];
        let ruleset = run("nft", &["-j", "list", "ruleset"], "")?;
        let leftovers = config.standing(&ruleset);
        let (findings, tracking) = inspect(ruleset, &config);

        // From here on dropping it undoes what has been done.
        let divert = Divert { config, findings, leftovers, _instance: instance };
        let config = &divert.config;
        config.remove();
        config.make_devices()?;
        config.make_routes()?;
        // Last, since from here on packets come.
        config.make_table(tracking)?;
        Ok((divert, tuns))
    }

    /// What on this host may be in our way, with the remedy.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// What a killed predecessor had left, which has been removed.
    pub fn leftovers(&self) -> &[String] {
        &self.leftovers
    }
}

/// The families of addresses that there are, as options of `ip`.
fn families() -> &'static [&'static str] {
    if Path::new("/proc/sys/net/ipv6").exists() { &["-4", "-6"] } else { &["-4"] }
}

impl Drop for Divert {
    fn drop(&mut self) {
        self.config.remove();
    }
}

/// What may be in the way of `config`, and whether connections are tracked. `ruleset` is nft's.
fn inspect(ruleset: String, config: &DivertConfig) -> (Vec<Finding>, bool) {
    let (shown, links, policies) = (Shown::ask(ruleset), Links::read(), Policies::read());
    let sides = links.sides(config);
    let mut findings = links.inspect(config);
    findings.extend(shown.inspect(config, &sides));
    let marks = if policies.ask_for_marks(config) {
        blame::marks(&shown.read(&config.nft_table), config, &sides)
    } else {
        Vec::new()
    };
    findings.extend(policies.inspect(config, &marks));
    findings.extend(Settings::read(config).inspect(config.selector));
    (findings, shown.tracks_connections(&config.nft_table))
}

/// Interfaces exist, forward, have ordinary names, and belong to one side each.
fn check_interfaces(config: &DivertConfig) -> Result<(), DivertError> {
    let mut seen: Vec<&str> = Vec::new();
    for (number, side) in config.sides.iter().enumerate() {
        if side.interfaces.is_empty() {
            return Err(DivertError::NoInterfaces(number));
        }
        for name in &side.interfaces {
            let ordinary = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
            if name.is_empty() || !name.chars().all(ordinary) {
                return Err(DivertError::InterfaceName(name.clone()));
            }
            if seen.contains(&name.as_str()) {
                return Err(DivertError::Twice(name.clone()));
            }
            seen.push(name);
        }
        check_forwarding(&side.interfaces)?;
    }
    Ok(())
}
