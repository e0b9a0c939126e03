//! Where everything of a scenario's network goes: a namespace for each node, an address for each,
//! a TUN device at each end of each link, and the routes between them.

use bentpipe_linux::netns::teardown::PREFIX;
use bentpipe_scenario::{NodeIndex, NodeKind, Scenario, network};
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;

/// The longest name of an interface (`IFNAMSIZ`, which counts a zero behind it).
const MAX_DEVICE: usize = 15;

/// What a node is, for whoever asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// Linux's own TCP.
    Host,
    /// Linux forwards.
    Router,
    /// `bentpipe gateway` runs there.
    Gateway,
}

/// A node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedNode {
    /// Its name in the scenario.
    pub name: String,
    /// What it is.
    pub role: Role,
    /// Its network namespace.
    pub namespace: String,
    /// Its address, whichever way it is reached.
    pub address: Ipv4Addr,
    /// Which device leads to each of the others: a node's number and a device.
    pub routes: Vec<(usize, String)>,
}

/// A link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlacedLink {
    /// Its name in the scenario.
    pub name: String,
    /// Its two ends: a node's number, and the device there.
    pub ends: [(usize, String); 2],
    /// The longest packet that it carries, if there is a limit.
    pub mtu: Option<u32>,
}

/// A scenario's network as namespaces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Nodes, in the scenario's order.
    pub nodes: Vec<PlacedNode>,
    /// Links, in the scenario's order.
    pub links: Vec<PlacedLink>,
}

impl Layout {
    /// The layout of `scenario` in the testbed `name`.
    pub fn of(scenario: &Scenario, name: &str) -> Layout {
        let links: Vec<PlacedLink> = scenario.links.iter().enumerate().map(placed_link).collect();
        let nodes = scenario.nodes.iter().enumerate().map(|(number, node)| PlacedNode {
            name: node.name.clone(),
            role: match node.kind {
                NodeKind::Host { .. } => Role::Host,
                NodeKind::Router(_) => Role::Router,
                NodeKind::Gateway(_) => Role::Gateway,
            },
            namespace: namespace(name, &node.name, number),
            address: address(number),
            routes: routes(scenario, &links, number),
        });
        Layout { nodes: nodes.collect(), links }
    }

    /// The node of this name.
    pub fn node(&self, name: &str) -> Option<&PlacedNode> {
        self.nodes.iter().find(|node| node.name == name)
    }

    /// The devices of the node of this number, with the links to which they belong.
    pub fn devices(&self, number: usize) -> impl Iterator<Item = (&PlacedLink, &str)> {
        self.links.iter().flat_map(move |link| {
            let ends = link.ends.iter().filter(move |(node, _)| *node == number);
            ends.map(move |(_, device)| (link, device.as_str()))
        })
    }
}

/// What all namespaces of the testbed `name` begin with.
pub(crate) fn namespaces(name: &str) -> String {
    // No name of a testbed has a dot, so that none is the beginning of another one's.
    format!("{PREFIX}testbed-{name}.")
}

fn namespace(name: &str, node: &str, number: usize) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let begin = namespaces(name);
    match !node.is_empty() && node.len() <= 60 && node.bytes().all(plain) {
        true => format!("{begin}{node}"),
        false => format!("{begin}{number}"),
    }
}

/// Of 10.90.0.0/16; the first node has 10.90.0.1.
fn address(number: usize) -> Ipv4Addr {
    let [high, low] = u16::try_from(number + 1).unwrap_or(u16::MAX).to_be_bytes();
    Ipv4Addr::new(10, 90, high, low)
}

/// Both ends of a link are called like it, if an interface can be.
fn placed_link((number, link): (usize, &bentpipe_scenario::Link)) -> PlacedLink {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let taken = ["lo", "all", "default"].contains(&link.name.as_str())
        || ["bp-", "link-"].iter().any(|begin| link.name.starts_with(begin));
    let fits = !link.name.is_empty() && link.name.len() <= MAX_DEVICE;
    let device = match fits && !taken && link.name.bytes().all(plain) {
        true => link.name.clone(),
        false => format!("link-{number}"),
    };
    let [a, b] = link.between;
    let ends = [(a.0, device.clone()), (b.0, device)];
    PlacedLink { name: link.name.clone(), ends, mtu: link.mtu }
}

/// Which device leads to each node that can be reached from the one of this number.
fn routes(scenario: &Scenario, links: &[PlacedLink], number: usize) -> Vec<(usize, String)> {
    let to = |other: usize| {
        let (from, to) = (NodeIndex(number), NodeIndex(other));
        let (first, _) = *network::path(&scenario.nodes, &scenario.links, from, to)?.first()?;
        let end = links[first.0].ends.iter().find(|(node, _)| *node == number)?;
        Some((other, end.1.clone()))
    };
    (0..scenario.nodes.len()).filter(|other| *other != number).filter_map(to).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        Scenario::parse(
            r#"
            [run]
            duration = "1s"
            [host.a]
            [host."b c"]
            [router.r]
            [link.sat]
            between = ["a", "r"]
            [link.a-link-with-a-long-name]
            between = ["r", "b c"]
            [flow.x]
            from = "a"
            to = "b c"
            "#,
        )
        .unwrap()
    }

    #[test]
    fn nodes_links_and_routes_have_their_places() {
        let layout = Layout::of(&scenario(), "try");
        let spaces: Vec<&str> = layout.nodes.iter().map(|node| node.namespace.as_str()).collect();
        assert_eq!(
            spaces,
            ["bentpipe-testbed-try.a", "bentpipe-testbed-try.1", "bentpipe-testbed-try.r"]
        );
        assert_eq!(layout.nodes[2].address, Ipv4Addr::new(10, 90, 0, 3));
        assert_eq!(layout.links[0].ends[1], (2, "sat".to_owned()));
        assert_eq!(layout.links[1].ends[0], (2, "link-1".to_owned()));
        let sat = || "sat".to_owned();
        assert_eq!(layout.nodes[0].routes, [(1, sat()), (2, sat())]);
        assert_eq!(layout.nodes[2].routes, [(0, sat()), (1, "link-1".to_owned())]);
        assert!(layout.nodes.iter().all(|node| node.namespace.starts_with(&namespaces("try"))));
    }
}
