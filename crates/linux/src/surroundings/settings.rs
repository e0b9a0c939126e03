//! What the kernel is set to: forwarding, MTUs, how many connections it tracks.

use super::links::list;
use super::{Finding, Side};
use crate::command::run;
use crate::interface::min_mtu;
use std::fs;

/// What the kernel is set to, as far as it matters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Settings {
    /// `/proc/net/if_inet6`: the addresses of IPv6.
    ipv6_addresses: String,
    /// Whether IPv6 is forwarded.
    ipv6_forwarding: bool,
    /// Interfaces that do not forward IPv4.
    not_forwarding: Vec<String>,
    /// The interfaces.
    interfaces: Vec<String>,
    /// The minimum MTU of each side, in bytes.
    mtus: Option<[u16; 2]>,
    /// A firewall cuts the MSS of what is forwarded to the MTU of its route.
    mss_is_clamped: bool,
    /// Interfaces with a default route of IPv6 that a router advertises, and their `accept_ra`.
    advertised: Vec<(String, u8)>,
    /// Connections that are tracked, and the most that may be.
    tracked: Option<[u64; 2]>,
}

impl Settings {
    /// As they are now. What cannot be read is taken for harmless.
    pub(super) fn read(sides: &[Side; 2]) -> Settings {
        let number = |path: String| -> Option<u8> {
            fs::read_to_string(format!("/proc/sys/net/{path}")).ok()?.trim().parse().ok()
        };
        let sides = sides.each_ref();
        let mtus = sides.map(|side| min_mtu(&side.interfaces).ok());
        let mtus = mtus[0].zip(mtus[1]).map(<[u16; 2]>::from);
        let names = sides.into_iter().flat_map(|side| &side.interfaces);
        Settings {
            mss_is_clamped: mtus.is_some_and(|[lan, satellite]| satellite < lan)
                && mss_is_clamped(),
            // That of `/proc/net` is the process's, which need not be this thread's.
            ipv6_addresses: fs::read_to_string("/proc/thread-self/net/if_inet6")
                .unwrap_or_default(),
            ipv6_forwarding: number("ipv6/conf/all/forwarding".into()).is_none_or(|on| on != 0),
            not_forwarding: names
                .clone()
                .filter(|name| number(format!("ipv4/conf/{name}/forwarding")) == Some(0))
                .cloned()
                .collect(),
            interfaces: names.cloned().collect(),
            mtus,
            advertised: advertised(
                &run("ip", &["-j", "-6", "route", "show", "default"], "").unwrap_or_default(),
            )
            .into_iter()
            .map(|name| {
                let accepts = number(format!("ipv6/conf/{name}/accept_ra")).unwrap_or(0);
                (name, accepts)
            })
            .collect(),
            tracked: [tracked("count"), tracked("max")]
                .into_iter()
                .collect::<Option<Vec<_>>>()
                .and_then(|numbers| numbers.try_into().ok()),
        }
    }

    /// What of it is in our way.
    pub(super) fn inspect(&self) -> Vec<Finding> {
        let mut findings = Vec::new();
        if !self.ipv6_forwarding && self.interfaces.iter().any(|name| self.has_ipv6(name)) {
            let advertised = self.advertised.iter().filter(|(_, accepts)| *accepts == 1);
            let advertised = advertised.map(|(name, _)| name.clone()).collect();
            findings.push(Finding::Ipv6Forwarding { advertised });
        } else if self.ipv6_forwarding {
            // With 0 another program than the kernel hears them; 2 is "in spite of forwarding"
            // (Documentation/networking/ip-sysctl.rst).
            let lost = self.advertised.iter().filter(|(_, accepts)| *accepts == 1);
            findings.extend(
                lost.map(|(name, _)| Finding::RouterAdvertisements { interface: name.clone() }),
            );
        }
        if let Some([count, max]) = self.tracked
            && count > max - max / 10
        {
            findings.push(Finding::ConntrackFull { max });
        }
        let not_forwarding = self.not_forwarding.iter().cloned();
        findings.extend(not_forwarding.map(|interface| Finding::Forwarding { interface }));
        if let Some([lan, satellite]) = self.mtus
            && satellite < lan
            && !self.mss_is_clamped
        {
            findings.push(Finding::Mtu { lan, satellite });
        }
        findings
    }

    /// Whether the interface has an address of more than its own link. A line is: address, index,
    /// prefix length, scope, flags, name.
    fn has_ipv6(&self, interface: &str) -> bool {
        const GLOBAL: &str = "00";
        self.ipv6_addresses.lines().any(|line| {
            let words: Vec<&str> = line.split_ascii_whitespace().collect();
            words.get(3) == Some(&GLOBAL) && words.get(5) == Some(&interface)
        })
    }
}

/// Interfaces of default routes that a router advertises, from `ip -j -6 route show default`.
fn advertised(routes: &str) -> Vec<String> {
    let mut names = Vec::new();
    for route in list(routes).iter().filter(|route| route["protocol"] == "ra") {
        let hops = route["nexthops"].as_array().into_iter().flatten();
        let devices = hops.chain([route]).filter_map(|hop| hop["dev"].as_str());
        names.extend(devices.map(str::to_owned));
    }
    names.sort();
    names.dedup();
    names
}

/// Whether a rule of nftables, or of the older tables, has the MSS of forwarded SYNs follow the
/// route's MTU.
fn mss_is_clamped() -> bool {
    let shows = |program, arguments: &[&str], word| {
        run(program, arguments, "").is_ok_and(|rules| rules.contains(word))
    };
    // To ask for a table that is not there would make it.
    let tables = fs::read_to_string("/proc/thread-self/net/ip_tables_names").unwrap_or_default();
    // Without the elements of sets: there may be a million addresses.
    shows("nft", &["-t", "list", "ruleset"], "maxseg size set rt mtu")
        || tables.lines().any(|table| table == "mangle")
            && shows("iptables-legacy-save", &["-t", "mangle"], "--clamp-mss-to-pmtu")
}

/// Connections that are tracked here (`count`), or the most that may be (`max`).
fn tracked(of: &str) -> Option<u64> {
    fs::read_to_string(format!("/proc/sys/net/netfilter/nf_conntrack_{of}"))
        .ok()?
        .trim()
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// From a host with a link-local and a unique local address.
    const ADDRESSES: &str = "\
fe8000000000000000fc00fffe000001 04 40 20 80     eth0
fd000000000000000000000000000002 04 40 00 82     eth0
fe8000000000000000fc00fffe000002 05 40 20 80     sat0
00000000000000000000000000000001 01 80 10 80       lo
";

    fn settings(interfaces: &[&str]) -> Settings {
        Settings {
            ipv6_addresses: ADDRESSES.into(),
            ipv6_forwarding: true,
            not_forwarding: Vec::new(),
            interfaces: interfaces.iter().map(|&name| name.to_owned()).collect(),
            mtus: Some([1500, 1500]),
            mss_is_clamped: false,
            advertised: Vec::new(),
            tracked: None,
        }
    }

    #[test]
    fn ipv6_that_is_not_forwarded_is_found_where_there_is_ipv6() {
        let off = |settings| Settings { ipv6_forwarding: false, ..settings };
        let found = off(settings(&["eth0", "sat0"])).inspect();
        assert!(found[0].to_string().contains("net.ipv6.conf.all.forwarding=1"), "{found:?}");
        let without = off(settings(&["eth1", "sat0"]));
        assert_eq!(without.inspect(), [], "link-local addresses need no forwarding");
        assert_eq!(settings(&["eth0", "sat0"]).inspect(), []);
    }

    #[test]
    fn a_default_route_that_is_advertised_is_kept() {
        let routes = r#"[{"dst":"default","gateway":"fe80::1","dev":"sat0","protocol":"ra"},
            {"dst":"default","gateway":"fd00::1","dev":"eth0","protocol":"static"}]"#;
        assert_eq!(advertised(routes), ["sat0"]);
        let with = |forwarding, accepts| {
            let settings = settings(&["eth0", "sat0"]);
            let advertised = vec![("sat0".to_owned(), accepts)];
            Settings { ipv6_forwarding: forwarding, advertised, ..settings }.inspect()
        };
        let off = with(false, 1)[0].remedy().unwrap();
        assert_eq!(off, "sysctl -w net.ipv6.conf.sat0.accept_ra=2 net.ipv6.conf.all.forwarding=1");
        let on = with(true, 1)[0].remedy().unwrap();
        assert_eq!(on, "sysctl -w net.ipv6.conf.sat0.accept_ra=2");
        assert_eq!(with(true, 2), []);
        assert_eq!(with(true, 0), [], "another program hears them");
    }

    #[test]
    fn a_table_of_tracked_connections_that_is_almost_full_is_found() {
        let with = |count| {
            let settings = settings(&["eth0", "sat0"]);
            Settings { tracked: Some([count, 1000]), ..settings }.inspect()
        };
        assert_eq!(with(950), [Finding::ConntrackFull { max: 1000 }]);
        assert_eq!(with(800), []);
    }

    #[test]
    fn an_interface_that_does_not_forward_is_found() {
        let not_forwarding = vec!["sat0".to_owned()];
        let found = Settings { not_forwarding, ..settings(&["sat0"]) }.inspect();
        assert!(found[0].to_string().contains("net.ipv4.conf.sat0.forwarding=1"), "{found:?}");
    }

    #[test]
    fn a_satellite_with_short_packets_is_found() {
        let with = |mtus| Settings { mtus: Some(mtus), ..settings(&["eth0", "sat0"]) };
        let found = with([1500, 1400]).inspect();
        assert_eq!(found, [Finding::Mtu { lan: 1500, satellite: 1400 }]);
        assert_eq!(with([1500, 9000]).inspect(), []);
        assert_eq!(Settings { mss_is_clamped: true, ..with([1500, 1400]) }.inspect(), []);
    }
}
