//! What is found in a gateway's way: cause, remedy, and what it means for new connections.

use std::fmt;

/// Something that may be in our way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A firewall drops what comes through us of connections that it lets through without us.
    Firewall {
        /// The chain that does.
        chain: String,
        /// It drops before packets are routed, as filters of reverse paths do.
        is_before_routing: bool,
        /// What it drops, as interfaces from and to.
        legs: Vec<(String, String)>,
        /// Commands.
        remedy: Vec<String>,
        /// They let more through than the firewall does now.
        is_broad: bool,
    },
    /// Source NAT that also rewrites packets on their way into our devices.
    SourceNat {
        /// The chain.
        chain: String,
        /// Commands.
        remedy: Vec<String>,
    },
    /// A flow table, whose established flows pass our chain by.
    FlowTable {
        /// Family, table and flow table.
        table: String,
        /// Commands.
        remedy: Vec<String>,
    },
    /// Rules of the old iptables that nothing is there to show.
    LegacyRules {
        /// `iptables-legacy` or `ip6tables-legacy`.
        program: &'static str,
    },
    /// Rules of policy routing that tell apart what comes in from a host and what we write in its
    /// stead.
    PolicyRouting {
        /// The rules, as `ip rule` shows them.
        rules: Vec<String>,
        /// What to do.
        remedy: String,
        /// It is a command line.
        is_command: bool,
    },
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
    /// A side with interfaces in different VRFs.
    Vrfs {
        /// The side's interfaces.
        interfaces: Vec<String>,
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
    /// A side with several interfaces, one of which takes only packets whose answers would leave by
    /// it.
    StrictReversePath {
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
    /// An interface that does not forward, as one that was made anew may not.
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
pub enum Effect {
    /// Something is not as good as it could be.
    Advice,
    /// Connections are not split, and pass.
    Unsplit,
    /// New connections would die, or take another way than the operator's rules say.
    Harm,
}

impl Finding {
    /// Its kind, for machines.
    pub fn name(&self) -> &'static str {
        match self {
            Finding::Firewall { .. } => "firewall",
            Finding::SourceNat { .. } => "source_nat",
            Finding::FlowTable { .. } => "flow_table",
            Finding::LegacyRules { .. } => "legacy_rules",
            Finding::PolicyRouting { .. } => "policy_routing",
            Finding::Port { .. } => "port",
            Finding::Below { .. } => "below",
            Finding::Vrfs { .. } => "vrfs",
            Finding::Ipv6Forwarding { .. } => "ipv6_forwarding",
            Finding::RouterAdvertisements { .. } => "router_advertisements",
            Finding::StrictReversePath { .. } => "strict_reverse_path",
            Finding::NotReturned { .. } => "not_returned",
            Finding::Mtu { .. } => "mtu",
            Finding::Forwarding { .. } => "forwarding",
            Finding::ConntrackFull { .. } => "conntrack_full",
        }
    }

    /// What it means for connections, were packets diverted in spite of it.
    pub fn effect(&self) -> Effect {
        match self {
            Finding::Firewall { .. }
            | Finding::SourceNat { .. }
            | Finding::FlowTable { .. }
            | Finding::PolicyRouting { .. }
            | Finding::NotReturned { .. }
            | Finding::Vrfs { .. } => Effect::Harm,
            Finding::Port { .. } | Finding::Below { .. } => Effect::Unsplit,
            _ => Effect::Advice,
        }
    }

    /// Whether nothing is diverted while it is there.
    pub fn forbids_diversion(&self) -> bool {
        self.effect() > Effect::Advice
    }

    /// What is the matter.
    pub fn cause(&self) -> String {
        match self {
            Finding::Firewall { chain, is_before_routing: true, .. } => format!(
                "the reverse path filter in {chain} (or another rule there) drops what we write"
            ),
            Finding::Firewall { chain, legs, .. } => {
                let legs: Vec<String> =
                    legs.iter().map(|(from, to)| format!("{from} to {to}")).collect();
                format!(
                    "firewall chain {chain} drops what comes through us of connections that it \
                     lets through without us ({})",
                    legs.join(", ")
                )
            }
            Finding::SourceNat { chain, .. } => format!(
                "source NAT in {chain} would rewrite packets on their way to us, as it does not \
                 name its output interface"
            ),
            Finding::FlowTable { table, .. } => format!(
                "flow table {table} takes packets past us: connections would die, or be released (on OpenWrt it is \
                 `flow_offloading_hw`, and `flow_offloading` for an emulated link: set it to 0)"
            ),
            Finding::LegacyRules { program } => format!(
                "tables of {program} are in use and cannot be read: unless they accept all that is \
                 forwarded, new connections will not pass"
            ),
            Finding::PolicyRouting { rules, .. } => format!(
                "policy routing would not hold for what comes through us: ip rule {}",
                rules.join("; ip rule ")
            ),
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
            Finding::Vrfs { interfaces } => {
                format!("{} are one side, and in different VRFs", interfaces.join(", "))
            }
            Finding::Ipv6Forwarding { .. } => {
                "IPv6 is not forwarded, though there are addresses of it".into()
            }
            Finding::RouterAdvertisements { interface } => format!(
                "the default route of IPv6 over {interface} comes from router advertisements, which \
                 are not heard while forwarding is on: it will be lost"
            ),
            Finding::StrictReversePath { interface } => format!(
                "{interface} is one of several interfaces of its side and drops packets whose \
                 answers leave by another one (rp_filter=1)"
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
            Finding::Firewall { remedy, .. }
            | Finding::SourceNat { remedy, .. }
            | Finding::FlowTable { remedy, .. } => remedy.join(" && "),
            Finding::LegacyRules { program } => {
                format!("apt-get install iptables # brings {program}-save")
            }
            Finding::PolicyRouting { remedy, .. } => remedy.clone(),
            Finding::Port { master, .. } => format!("configure {master}"),
            Finding::Below { upper, .. } => format!("configure {upper}"),
            Finding::NotReturned { .. } => {
                "take that program off (`bpftool net`, `tc filter show`), or get a newer kernel; it is tried again \
                 after a minute, and then less and less often"
                    .into()
            }
            Finding::Vrfs { .. } => {
                "run a gateway for each VRF, in a network namespace of its own".into()
            }
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
            Finding::StrictReversePath { interface } => {
                format!("sysctl -w net.ipv4.conf.{interface}.rp_filter=2")
            }
            Finding::Mtu { .. } => "nft add rule FAMILY TABLE FORWARD-CHAIN 'tcp flags syn tcp \
                                    option maxseg size set rt mtu'"
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
            Finding::PolicyRouting { is_command: false, .. }
                | Finding::Port { .. }
                | Finding::Below { .. }
                | Finding::NotReturned { .. }
                | Finding::Vrfs { .. }
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
            (false, _) => f.write_str("; run")?,
        }
        if let Finding::Firewall { is_broad: true, .. } = self {
            f.write_str(
                ", with the conditions that the firewall has for the same connections without us,",
            )?;
        }
        let colon = if self.is_command() { ":" } else { "" };
        write!(f, "{colon} {remedy}")
    }
}
