//! Where the configured interfaces stand among the others: as a port of a bridge, below a tunnel,
//! in a VRF.
//!
//! Asked of `ip`, as `/sys` may show another network namespace's.

use super::{Finding, Side};
use crate::command::{CommandError, run};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

/// Interfaces and the routes over them.
#[derive(Debug, Clone, Default)]
pub(super) struct Links {
    /// As `ip -j -d link show` shows them.
    links: Vec<Value>,
    /// Default routes of both families' main tables, as `ip -j route show default` shows them.
    defaults: Vec<Value>,
    /// Those interfaces over which other routes of these tables lead, of those that matter.
    routed: BTreeSet<String>,
    /// The device by which a packet to the Internet leaves.
    default: Option<String>,
    /// `/proc/net/pppoe`: sessions and their devices.
    pppoe: String,
}

/// Kinds of interfaces that send what is routed into them out of another one.
const TUNNELS: [&str; 13] = [
    "wireguard",
    "gre",
    "gretap",
    "ip6gre",
    "ipip",
    "ip6tnl",
    "sit",
    "vti",
    "vti6",
    "xfrm",
    "tun",
    "vxlan",
    "ppp",
];
/// An address of nobody's (RFC 5737), for which the default route decides.
const ELSEWHERE: &str = "198.51.100.1";

impl Links {
    /// As they are now. What cannot be read is taken for harmless.
    pub(super) fn read(sides: &[Side; 2]) -> Links {
        let ask = |arguments: &[&str]| list(&run("ip", arguments, "").unwrap_or_default());
        let mut defaults = ask(&["-j", "-4", "route", "show", "default"]);
        defaults.extend(ask(&["-j", "-6", "route", "show", "default"]));
        let way = ask(&["-j", "route", "get", ELSEWHERE]);
        let mut links = Links {
            links: ask(&["-j", "-d", "link", "show"]),
            defaults,
            routed: BTreeSet::new(),
            default: way.first().and_then(|way| way["dev"].as_str()).map(str::to_owned),
            pppoe: fs::read_to_string("/proc/thread-self/net/pppoe").unwrap_or_default(),
        };
        links.routed = links.in_question(sides).into_iter().filter(|it| has_routes(it)).collect();
        links
    }

    /// Interfaces of which it matters whether routes lead over them: those of `sides` with others
    /// above them, and these. A table may have a million routes, so nobody asks for all of them.
    fn in_question(&self, sides: &[Side; 2]) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        for name in sides.iter().flat_map(|side| &side.interfaces) {
            for upper in self.links.iter().filter(|link| self.lies_on(link, name)) {
                names.extend(upper["ifname"].as_str().map(str::to_owned));
                names.insert(name.clone());
            }
        }
        names
    }

    /// What of it keeps packets from coming to us.
    pub(super) fn inspect(&self, sides: &[Side; 2]) -> Vec<Finding> {
        let mut findings = Vec::new();
        for side in sides {
            for name in &side.interfaces {
                if let Some((master, kind)) = self.master(name)
                    && kind != "vrf"
                {
                    let (interface, master, kind) = (name.clone(), master.into(), kind.into());
                    findings.push(Finding::Port { interface, master, kind });
                } else if let Some((upper, kind)) = self.upper(name, sides) {
                    let interface = name.clone();
                    findings.push(Finding::Below { interface, upper, kind });
                }
            }
        }
        findings
    }

    fn link(&self, name: &str) -> Option<&Value> {
        self.links.iter().find(|link| link["ifname"] == name)
    }

    /// Whether a link's packets leave by the interface `name`.
    fn lies_on(&self, link: &Value, name: &str) -> bool {
        let kind = &link["linkinfo"]["info_kind"];
        let mut sessions = self.pppoe.lines();
        let is_session = |line: &str| line.split_ascii_whitespace().last() == Some(name);
        // The other end of a pair of veth is no lower device.
        link["link"] == name && kind != "veth" || kind == "ppp" && sessions.any(is_session)
    }

    /// Whose port the interface is, and what kind of interface that is.
    fn master(&self, name: &str) -> Option<(&str, &str)> {
        let link = self.link(name)?;
        let kind = link["linkinfo"]["info_slave_kind"].as_str().unwrap_or("master");
        Some((link["master"].as_str()?, kind))
    }

    /// The interface by which routes go that seem to go by `name`.
    fn upper(&self, name: &str, sides: &[Side; 2]) -> Option<(String, String)> {
        let is_ours = |link: &str| {
            sides.iter().any(|side| side.tun == link || side.interfaces.iter().any(|it| it == link))
        };
        let is_default = |link: &str| self.defaults.iter().any(|route| is_over(route, link));
        let has_routes = |link: &str| self.routed.contains(link) || is_default(link);
        // wg-quick's rules lead past the main table, whose default route the tunnel's packets take.
        let leads = self.defaults.iter().any(|it| it["dev"] == name);
        self.links.iter().find_map(|link| {
            let upper = link["ifname"].as_str()?;
            let kind = link["linkinfo"]["info_kind"].as_str().unwrap_or("");
            if is_ours(upper) || !has_routes(upper) && self.default.as_deref() != Some(upper) {
                return None;
            }
            let instead = self.lies_on(link, name) && !has_routes(name);
            let through =
                TUNNELS.contains(&kind) && leads && self.default.as_deref() == Some(upper);
            (instead || through).then(|| (upper.to_owned(), kind.to_owned()))
        })
    }
}

/// Whether a route leads over an interface, by one of its next hops at least.
fn is_over(route: &Value, interface: &str) -> bool {
    let mut hops = route["nexthops"].as_array().into_iter().flatten();
    route["dev"] == interface || hops.any(|hop| hop["dev"] == interface)
}

/// Whether a route of the main tables leads over an interface. Of one with so many that nobody
/// reads them to the end, one does.
fn has_routes(interface: &str) -> bool {
    ["-4", "-6"].into_iter().any(|family| {
        match run("ip", &[family, "route", "show", "dev", interface], "") {
            Ok(routes) => has_other_than_own(&routes),
            Err(error) => matches!(error, CommandError::Long { .. }),
        }
    })
}

/// Whether some of `ip`'s lines is of a route that an interface does not have by itself.
fn has_other_than_own(routes: &str) -> bool {
    let is_own = |line: &str| line.starts_with("fe80:") || line.starts_with("ff00:");
    routes.lines().any(|line| !line.trim().is_empty() && !is_own(line))
}

/// A list that `ip -j` prints, which is nothing at all if it is empty.
pub fn list(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn sides(lan: &[&str], satellite: &[&str]) -> [Side; 2] {
        let side = |interfaces: &[&str], tun: &str| Side {
            interfaces: interfaces.iter().map(|&name| name.into()).collect(),
            tun: tun.into(),
        };
        [side(lan, "bp-lan"), side(satellite, "bp-sat")]
    }

    fn link(name: &str, kind: &str) -> Value {
        json!({ "ifname": name, "linkinfo": { "info_kind": kind } })
    }

    fn port(name: &str, master: &str, kind: &str) -> Value {
        json!({ "ifname": name, "master": master, "linkinfo": { "info_slave_kind": kind } })
    }

    /// With default routes over these interfaces, and other routes over those.
    fn links(links: Vec<Value>, defaults: &[&str], routed: &[&str], default: &str) -> Links {
        Links {
            links,
            defaults: defaults.iter().map(|it| json!({ "dst": "default", "dev": it })).collect(),
            routed: routed.iter().map(|&it| it.into()).collect(),
            default: Some(default.into()),
            pppoe: String::new(),
        }
    }

    #[test]
    fn a_port_is_told_with_its_master() {
        let ports = vec![port("eth1", "br-lan", "bridge"), port("eth2", "bond0", "bond")];
        let found =
            links(ports, &["sat"], &["br-lan"], "sat").inspect(&sides(&["eth1", "eth2"], &["sat"]));
        let text: Vec<String> = found.iter().map(Finding::to_string).collect();
        assert_eq!(
            text[0],
            "eth1 is a port of br-lan (bridge), and its packets come in there; nothing is split \
             until you configure br-lan"
        );
        assert!(text[1].starts_with("eth2 is a port of bond0 (bond)"), "{text:?}");
        assert!(found.iter().all(Finding::forbids_diversion) && found.len() == 2);
    }

    #[test]
    fn an_interface_below_the_one_with_the_routes_is_told() {
        let vlan =
            json!({ "ifname": "sat.10", "link": "sat", "linkinfo": { "info_kind": "vlan" } });
        let sides = sides(&["lan"], &["sat"]);
        let of = |routed| links(vec![vlan.clone()], &["sat.10"], routed, "sat.10");
        assert!(of(&[]).in_question(&sides).iter().eq(["sat", "sat.10"]));
        let found = of(&[]).inspect(&sides);
        assert!(
            matches!(&found[..], [Finding::Below { upper, .. }] if upper == "sat.10"),
            "{found:?}"
        );
        // One that has routes itself is as good as its VLANs.
        assert_eq!(of(&["sat"]).inspect(&sides), []);

        // As wg-quick leaves it: the main table's default is the tunnel's own way.
        let tunnel = |default| {
            let links = links(vec![link("wg0", "wireguard")], &["sat"], &[], default);
            assert!(links.in_question(&sides).is_empty());
            links.inspect(&sides)
        };
        assert!(matches!(&tunnel("wg0")[..], [Finding::Below { .. }]));
        assert_eq!(tunnel("sat"), []);

        let session = "Id       Address              Device\n0001     00:11:22:33:44:55    sat\n";
        let ppp = Links {
            pppoe: session.into(),
            ..links(vec![link("ppp0", "ppp")], &["ppp0"], &[], "ppp0")
        };
        assert!(matches!(&ppp.inspect(&sides)[..], [Finding::Below { .. }]));
        let veth = json!({ "ifname": "other", "link": "sat", "linkinfo": { "info_kind": "veth" } });
        assert_eq!(links(vec![veth], &["other"], &[], "other").inspect(&sides), []);
    }

    #[test]
    fn routes_that_an_interface_has_by_itself_are_none() {
        assert!(!has_other_than_own(""));
        assert!(!has_other_than_own("fe80::/64 proto kernel metric 256 pref medium\n"));
        assert!(has_other_than_own("10.2.0.0/24 proto kernel scope link src 10.2.0.1 \n"));
    }
}
