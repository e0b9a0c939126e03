//! What start-up checks have to say: each finding with its remedy.

use std::fmt;

/// Something that may be in our way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// A forward chain that drops what it does not know, and does not know our devices.
    ForwardDrop {
        /// Family, table and chain.
        chain: String,
        /// The sides' interfaces and devices, for the rules to add.
        rules: [String; 2],
    },
    /// Source NAT that does not name its output interface, so that it also rewrites packets on
    /// their way into our devices.
    SourceNat {
        /// Family, table and chain.
        chain: String,
    },
    /// A reverse path filter that drops what we write.
    ReversePath {
        /// Family, table and chain.
        chain: String,
        /// The rule to add.
        rule: String,
    },
    /// A flow table, whose established flows pass our chain by.
    FlowTable {
        /// Family, table and flow table.
        table: String,
    },
    /// Rules of the old iptables, which nft does not show, and which do not know our devices.
    LegacyRules {
        /// `iptables-legacy` or `ip6tables-legacy`.
        program: &'static str,
        /// How many; none if its tables are in use and it is not installed to show them.
        rules: Option<usize>,
        /// The rules to add.
        remedy: Vec<String>,
    },
    /// The kernel does not forward IPv6, though the interfaces have addresses of it.
    Ipv6Forwarding,
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
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::ForwardDrop { chain, rules: [through, into] } => write!(
                f,
                "firewall chain {chain} drops what it does not know and does not mention our \
                 devices; new connections will not pass until you run: \
                 nft insert rule {chain} {through} && nft insert rule {chain} {into} \
                 (and the like for the other side, if it may open connections)"
            ),
            Finding::SourceNat { chain } => write!(
                f,
                "source NAT in {chain} does not name its output interface and would rewrite \
                 packets before we see them: add `oifname` with the outer interface to that rule"
            ),
            Finding::ReversePath { chain, rule } => write!(
                f,
                "the reverse path filter in {chain} drops what we write until you run: \
                 nft insert rule {chain} {rule}"
            ),
            Finding::FlowTable { table } => write!(
                f,
                "flow table {table} lets established connections pass us by: take the interfaces \
                 named here out of it"
            ),
            Finding::LegacyRules { program, rules, remedy } => {
                match rules {
                    Some(rules) => write!(f, "{program} has {rules} rules, ")?,
                    None => write!(f, "tables of {program} are in use and cannot be read, ")?,
                }
                let commands: Vec<String> =
                    remedy.iter().map(|rule| format!("{program} -I FORWARD {rule}")).collect();
                write!(
                    f,
                    "which do not mention our devices: unless they accept all that is forwarded, \
                     new connections will not pass until you run: {} (and the like for the other \
                     side, if it may open connections)",
                    commands.join(" && ")
                )
            }
            Finding::Ipv6Forwarding => write!(
                f,
                "IPv6 is not forwarded, though there are addresses of it: run \
                 `sysctl -w net.ipv6.conf.all.forwarding=1`"
            ),
            Finding::StrictReversePath { interface } => write!(
                f,
                "{interface} is one of several interfaces of its side and drops packets whose \
                 answers leave by another one (rp_filter=1): run \
                 `sysctl -w net.ipv4.conf.{interface}.rp_filter=2`"
            ),
            Finding::Mtu { lan, satellite } => write!(
                f,
                "the satellite side's MTU ({satellite}) is below the LAN's ({lan}): split \
                 connections are cut to fit; what is forwarded needs ICMP's \"too big\" to reach \
                 the hosts, or their MSS clamped: nft add rule FAMILY TABLE FORWARD-CHAIN 'tcp \
                 flags syn tcp option maxseg size set rt mtu'"
            ),
            Finding::Forwarding { interface } => write!(
                f,
                "{interface} does not forward IPv4: run `sysctl -w net.ipv4.conf.{interface}.forwarding=1`"
            ),
        }
    }
}
