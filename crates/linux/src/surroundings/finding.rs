//! What is found in a gateway's way: cause, remedy, and what it means for new connections.

use std::fmt;

/// Something that may be in our way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A flow table of hardware, whose flows pass our programs by.
    FlowTable {
        /// Family, table and flow table.
        table: String,
        /// Commands.
        remedy: Vec<String>,
    },
    /// Without the program that shows them, flow tables are not found.
    NftMissing,
    /// A configured interface is a port of another one, where its packets come in.
    Port {
        /// The interface.
        interface: String,
        /// Whose port it is.
        master: String,
        /// `bridge`, `bond` and so on.
        kind: String,
    },
    /// A configured interface carries another one, over which the route goes.
    Below {
        /// The interface.
        interface: String,
        /// The one above.
        upper: String,
        /// `vlan`, `wireguard` and so on.
        kind: String,
    },
    /// What the gateway gives back does not come by the satellite's interfaces.
    NotReturned {
        /// The interfaces.
        interfaces: Vec<String>,
    },
    /// What takes packets at a device was taken off by somebody, and cannot be put back.
    NotTaken {
        /// The device.
        device: String,
        /// What the kernel said, and what to do about it as far as that is known.
        why: String,
    },
    /// Connections leave by the satellite, and none of them has come in by an interface of the LAN.
    Strangers {
        /// By which the last one came.
        interface: String,
    },
    /// The kernel does not forward IPv6, though the interfaces have addresses of it.
    Ipv6Forwarding {
        /// Interfaces whose default route a router advertises: it goes when forwarding begins.
        advertised: Vec<String>,
    },
    /// An interface whose default route a router advertises, where forwarding keeps the kernel from
    /// hearing it again.
    RouterAdvertisements {
        /// The interface.
        interface: String,
    },
    /// The satellite's packets are shorter than the LAN's.
    Mtu {
        /// The LAN's, in bytes.
        lan: u16,
        /// The satellite's, in bytes.
        satellite: u16,
    },
    /// An interface that does not forward, as one that was made again may not.
    Forwarding {
        /// The interface.
        interface: String,
    },
    /// The table of tracked connections is almost full.
    ConntrackFull {
        /// Its size.
        max: u64,
    },
}

/// What a finding means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Effect {
    /// Something is not as good as it could be.
    Advice,
    /// Connections are not split, and pass.
    Unsplit,
    /// New connections would die.
    Harm,
}

impl Finding {
    /// Its kind, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Finding::FlowTable { .. } => "flow-table",
            Finding::NftMissing => "nft-missing",
            Finding::Port { .. } => "port",
            Finding::Below { .. } => "below",
            Finding::NotReturned { .. } => "not-returned",
            Finding::NotTaken { .. } => "not-taken",
            Finding::Strangers { .. } => "strangers",
            Finding::Ipv6Forwarding { .. } => "ipv6-forwarding",
            Finding::RouterAdvertisements { .. } => "router-advertisements",
            Finding::Mtu { .. } => "mtu",
            Finding::Forwarding { .. } => "forwarding",
            Finding::ConntrackFull { .. } => "conntrack-full",
        }
    }

    /// What it means for connections, were packets taken in spite of it.
    fn effect(&self) -> Effect {
        match self {
            Finding::FlowTable { .. } | Finding::NotReturned { .. } => Effect::Harm,
            Finding::Port { .. } | Finding::Below { .. } | Finding::NotTaken { .. } => {
                Effect::Unsplit
            }
            _ => Effect::Advice,
        }
    }

    /// Whether nothing is taken while it is there.
    pub fn forbids_diversion(&self) -> bool {
        self.effect() > Effect::Advice
    }

    /// What is the matter.
    pub fn cause(&self) -> String {
        match self {
            Finding::FlowTable { table, .. } => format!(
                "flow table {table} has hardware take packets past our programs (on OpenWrt it is \
                 `flow_offloading_hw`: set it to 0)"
            ),
            Finding::NftMissing => {
                "`nft` is missing, so that flow tables that hardware works off are not found".into()
            }
            Finding::Port { interface, master, kind } => {
                format!("{interface} is a port of {master} ({kind}), and its packets come in there")
            }
            Finding::Below { interface, upper, kind } => {
                format!("the default route goes by {upper} ({kind}), which {interface} carries")
            }
            Finding::NotReturned { interfaces } => format!(
                "what the gateway gives back does not come by {}: a program of somebody else's takes it, or the \
                 driver drops what is redirected to it (PPP's does, before Linux 6.5)",
                interfaces.join(", ")
            ),
            Finding::NotTaken { device, why } => format!(
                "packets are not taken at {device} any more, and nothing is split until they are: {why}"
            ),
            Finding::Strangers { interface } => format!(
                "for five minutes connections have left by the satellite, and none came in by an interface of the LAN: the \
                 last one by {interface}, so that it is not split"
            ),
            Finding::Ipv6Forwarding { .. } => {
                "IPv6 is not forwarded, though there are addresses of it".into()
            }
            Finding::RouterAdvertisements { interface } => format!(
                "the default route of IPv6 over {interface} comes from router advertisements, which \
                 are not heard while forwarding is on: it will be lost"
            ),
            Finding::Mtu { lan, satellite } => format!(
                "the satellite side's MTU ({satellite}) is below the LAN's ({lan}): split \
                 connections are cut to fit; what is forwarded needs ICMP's \"too big\" to reach \
                 the hosts, or their MSS clamped"
            ),
            Finding::Forwarding { interface } => format!("{interface} does not forward IPv4"),
            Finding::ConntrackFull { max } => format!(
                "the table of tracked connections is almost full ({max} entries): beyond that new connections are dropped"
            ),
        }
    }

    /// A command line, or what else removes the cause.
    pub fn remedy(&self) -> Option<String> {
        Some(match self {
            Finding::FlowTable { remedy, .. } => remedy.join(" && "),
            Finding::NftMissing => "apt-get install nftables".into(),
            Finding::Port { master, .. } => format!("configure {master}"),
            Finding::Below { upper, .. } => format!("configure {upper}"),
            Finding::NotReturned { .. } => {
                "take that program off (`bpftool net`, `tc filter show`), or get a newer kernel; it is tried again \
                 after a minute, and then less and less often"
                    .into()
            }
            // It is tried again every second, and `why` has what is to be done.
            Finding::NotTaken { .. } => return None,
            Finding::Strangers { interface } => format!("name {interface} in `lan`, too"),
            Finding::Ipv6Forwarding { advertised } => {
                let keep: Vec<String> = advertised
                    .iter()
                    .map(|it| format!("net.ipv6.conf.{it}.accept_ra=2 "))
                    .collect();
                format!("sysctl -w {}net.ipv6.conf.all.forwarding=1", keep.concat())
            }
            Finding::RouterAdvertisements { interface } => {
                format!("sysctl -w net.ipv6.conf.{interface}.accept_ra=2")
            }
            Finding::Mtu { .. } => "nft 'add table inet mss-clamp { chain forward { type filter hook forward \
                                    priority mangle; tcp flags syn tcp option maxseg size set rt mtu; }; }'"
                .into(),
            Finding::Forwarding { interface } => {
                format!("sysctl -w net.ipv4.conf.{interface}.forwarding=1")
            }
            Finding::ConntrackFull { max } => {
                format!("sysctl -w net.netfilter.nf_conntrack_max={}", 2 * max)
            }
        })
    }

    fn is_command(&self) -> bool {
        !matches!(
            self,
            Finding::Port { .. }
                | Finding::Below { .. }
                | Finding::NotReturned { .. }
                | Finding::Strangers { .. }
        )
    }
}

/// Ends in the command, so that it can be taken from the line as it stands.
impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause())?;
        let Some(remedy) = self.remedy() else { return Ok(()) };
        match (self.forbids_diversion(), self.is_command()) {
            (true, true) => f.write_str("; nothing is split until you run")?,
            (true, false) => f.write_str("; nothing is split until you")?,
            (false, true) => f.write_str("; run")?,
            (false, false) => f.write_str(";")?,
        }
        let colon = if self.is_command() { ":" } else { "" };
        write!(f, "{colon} {remedy}")
    }
}
