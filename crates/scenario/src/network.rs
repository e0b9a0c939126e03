//! Which way packets go: to check that flows can reach their ends, and to set routes.

use crate::link::Link;
use crate::names::{LinkIndex, NodeIndex};
use crate::node::{Node, NodeKind};

/// The links of the cheapest way from `from` to `to`, each with the node where it is entered, or
/// `None` if there is no way. Only routers and gateways forward. Of equally cheap ways, that with
/// the earlier links in the file is taken.
pub fn path(
    nodes: &[Node],
    links: &[Link],
    from: NodeIndex,
    to: NodeIndex,
) -> Option<Vec<(LinkIndex, NodeIndex)>> {
    // Bellman and Ford: networks here are small, and ties are decided by order alone.
    let mut cost = vec![f64::INFINITY; nodes.len()];
    let mut by: Vec<Option<(LinkIndex, NodeIndex)>> = vec![None; nodes.len()];
    cost[from.0] = 0.0;
    loop {
        let mut changed = false;
        for (index, link) in links.iter().enumerate() {
            for (start, end, _) in link.directions() {
                let forwards =
                    start == from || !matches!(nodes[start.0].kind, NodeKind::Host { .. });
                let through = cost[start.0] + link.cost;
                if forwards && through < cost[end.0] {
                    cost[end.0] = through;
                    by[end.0] = Some((LinkIndex(index), start));
                    changed = true;
                }
            }
        }
        if !changed {
            break;
        }
    }
    let mut way = Vec::new();
    let mut at = to;
    while at != from {
        let step = by[at.0]?;
        way.push(step);
        at = step.1;
    }
    way.reverse();
    Some(way)
}

/// The links by which the cheapest ways from `from` to `to` begin, in the order of the file: one,
/// unless several ways cost the same.
pub fn ways(nodes: &[Node], links: &[Link], from: NodeIndex, to: NodeIndex) -> Vec<LinkIndex> {
    let cost = |start: NodeIndex| -> Option<f64> {
        let way = path(nodes, links, start, to)?;
        Some(way.iter().map(|(link, _)| links[link.0].cost).sum())
    };
    let Some(shortest) = cost(from) else { return Vec::new() };
    let forwards = |node: NodeIndex| !matches!(nodes[node.0].kind, NodeKind::Host { .. });
    let mut ways = Vec::new();
    for (index, link) in links.iter().enumerate() {
        for (start, next, _) in link.directions() {
            if start != from || !(next == to || forwards(next)) {
                continue;
            }
            // Sums of the same costs in another order differ by rounding.
            let through = cost(next).map(|rest| link.cost + rest);
            if through.is_some_and(|through| through <= shortest * (1.0 + 1e-9)) {
                ways.push(LinkIndex(index));
            }
        }
    }
    ways
}
