//! Checks of kernel settings: forwarding, reverse path filters, MTUs.

use super::finding::Finding;
use super::{DivertConfig, Selector};
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
    /// By side: each interface with the `rp_filter` that the kernel applies.
    rp_filters: [Vec<(String, u8)>; 2],
    /// The minimum MTU of each side, in bytes.
    mtus: Option<[u16; 2]>,
}

impl Settings {
    /// As they are now. What cannot be read is taken for harmless.
    pub(super) fn read(config: &DivertConfig) -> Settings {
        let number = |path: String| -> Option<u8> {
            fs::read_to_string(format!("/proc/sys/net/{path}")).ok()?.trim().parse().ok()
        };
        let rp_filter = |name: &str| number(format!("ipv4/conf/{name}/rp_filter")).unwrap_or(0);
        let all = rp_filter("all");
        let sides = config.sides.each_ref();
        let mtus = sides.map(|side| min_mtu(&side.interfaces).ok());
        let names = sides.into_iter().flat_map(|side| &side.interfaces);
        Settings {
            // That of `/proc/net` is the process's, which need not be this thread's.
            ipv6_addresses: fs::read_to_string("/proc/thread-self/net/if_inet6")
                .unwrap_or_default(),
            ipv6_forwarding: number("ipv6/conf/all/forwarding".into()).is_none_or(|on| on != 0),
            not_forwarding: names
                .filter(|name| number(format!("ipv4/conf/{name}/forwarding")) == Some(0))
                .cloned()
                .collect(),
            // The kernel takes the larger (Documentation/networking/ip-sysctl.rst).
            rp_filters: sides.map(|side| {
                side.interfaces
                    .iter()
                    .map(|name| (name.clone(), all.max(rp_filter(name))))
                    .collect()
            }),
            mtus: mtus[0].zip(mtus[1]).map(Into::into),
        }
    }

    /// What of it is in our way.
    pub(super) fn inspect(&self, selector: Selector) -> Vec<Finding> {
        let mut findings = Vec::new();
        let names = || self.rp_filters.iter().flatten().map(|(name, _)| name.as_str());
        if !self.ipv6_forwarding && names().any(|name| self.has_ipv6(name)) {
            findings.push(Finding::Ipv6Forwarding);
        }
        let not_forwarding = self.not_forwarding.iter().cloned();
        findings.extend(not_forwarding.map(|interface| Finding::Forwarding { interface }));
        // Where a side has one interface, what comes in on it is also answered by it.
        for side in self.rp_filters.iter().filter(|side| side.len() > 1) {
            let strict = side.iter().filter(|(_, rp_filter)| *rp_filter == 1);
            findings.extend(
                strict.map(|(name, _)| Finding::StrictReversePath { interface: name.clone() }),
            );
        }
        if let Some([lan, satellite]) = self.mtus
            && selector == Selector::Tcp
            && satellite < lan
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

    fn settings(lan: &[(&str, u8)], satellite: &[(&str, u8)]) -> Settings {
        let side = |side: &[(&str, u8)]| side.iter().map(|&(n, rp)| (n.to_owned(), rp)).collect();
        Settings {
            ipv6_addresses: ADDRESSES.into(),
            ipv6_forwarding: true,
            not_forwarding: Vec::new(),
            rp_filters: [side(lan), side(satellite)],
            mtus: Some([1500, 1500]),
        }
    }

    #[test]
    fn ipv6_that_is_not_forwarded_is_found_where_there_is_ipv6() {
        let off = |settings| Settings { ipv6_forwarding: false, ..settings };
        let found = off(settings(&[("eth0", 0)], &[("sat0", 0)])).inspect(Selector::Tcp);
        assert!(found[0].to_string().contains("net.ipv6.conf.all.forwarding=1"), "{found:?}");
        let without = off(settings(&[("eth1", 0)], &[("sat0", 0)]));
        assert_eq!(without.inspect(Selector::Tcp), [], "link-local addresses need no forwarding");
        assert_eq!(settings(&[("eth0", 0)], &[("sat0", 0)]).inspect(Selector::Tcp), []);
    }

    #[test]
    fn a_strict_filter_is_found_where_answers_may_leave_elsewhere() {
        let two = settings(&[("eth0", 1)], &[("sat0", 1), ("sat1", 2)]).inspect(Selector::Tcp);
        assert_eq!(two, [Finding::StrictReversePath { interface: "sat0".into() }]);
        assert!(two[0].to_string().contains("net.ipv4.conf.sat0.rp_filter=2"));
        assert_eq!(settings(&[("eth0", 1)], &[("sat0", 1)]).inspect(Selector::Tcp), []);
    }

    #[test]
    fn an_interface_that_does_not_forward_is_found() {
        let not_forwarding = vec!["sat0".to_owned()];
        let found =
            Settings { not_forwarding, ..settings(&[], &[("sat0", 0)]) }.inspect(Selector::Tcp);
        assert!(found[0].to_string().contains("net.ipv4.conf.sat0.forwarding=1"), "{found:?}");
    }

    #[test]
    fn a_satellite_with_short_packets_is_found() {
        let with = |mtus| Settings { mtus: Some(mtus), ..settings(&[("eth0", 0)], &[("sat0", 0)]) };
        let found = with([1500, 1400]).inspect(Selector::Tcp);
        assert_eq!(found, [Finding::Mtu { lan: 1500, satellite: 1400 }]);
        assert_eq!(with([1500, 1400]).inspect(Selector::All), [], "an emulator cuts nothing");
        assert_eq!(with([1500, 9000]).inspect(Selector::Tcp), []);
    }
}
