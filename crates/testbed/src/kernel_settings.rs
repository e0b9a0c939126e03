//! The kernel's settings for the TCP of a scenario's hosts, for readers of the results.

use crate::network::{HostTcp, SocketTcp};
use crate::plan::LivePoint;
use std::collections::BTreeMap;

/// A line for each of the settings of a scenario's hosts, in the order of its points. It begins
/// with `scenario`.
pub fn lines(scenario: &str, points: &[LivePoint]) -> Vec<String> {
    let mut said: Vec<(String, Vec<String>)> = Vec::new();
    for live in points {
        let mut ends: BTreeMap<usize, &SocketTcp> = BTreeMap::new();
        for (flow, sockets) in live.point.scenario.flows.iter().zip(&live.stack.flows) {
            ends.insert(flow.from.0, &sockets[0]);
            ends.insert(flow.to.0, &sockets[1]);
        }
        for (node, socket) in ends {
            let Some(host) = live.stack.hosts.get(node).and_then(Option::as_ref) else { continue };
            let text = words(host, socket);
            let name = live.point.scenario.nodes[node].name.clone();
            match said.iter_mut().find(|(other, _)| *other == text) {
                Some((_, hosts)) if hosts.contains(&name) => {}
                Some((_, hosts)) => hosts.push(name),
                None => said.push((text, vec![name])),
            }
        }
    }
    let line =
        |(text, hosts): (String, Vec<String>)| format!("{scenario}: {} {text}", hosts.join(", "));
    said.into_iter().map(line).collect()
}

/// The settings of a host and its sockets.
fn words(host: &HostTcp, socket: &SocketTcp) -> String {
    let sysctls: Vec<String> = host
        .sysctls
        .iter()
        .map(|(name, value)| format!("{}={value}", name.rsplit('.').next().unwrap_or(name)))
        .collect();
    let SocketTcp { congestion, nagle, mss, send_buffer, receive_buffer, pacing } = socket;
    let mut options = vec![format!("TCP_CONGESTION {congestion}"), format!("TCP_MAXSEG {mss}")];
    options.extend((!nagle).then(|| "TCP_NODELAY".to_owned()));
    options.extend(send_buffer.map(|bytes| format!("SO_SNDBUF {bytes}")));
    options.extend(receive_buffer.map(|bytes| {
        let twice = bytes.saturating_mul(2);
        format!("SO_RCVBUF {twice} and TCP_WINDOW_CLAMP {bytes}, set again after each read")
    }));
    options.extend(pacing.map(|rate| format!("SO_MAX_PACING_RATE {rate}")));
    format!(
        "have routes with `{}`, {}, and sockets with {}.",
        host.route,
        sysctls.join(", "),
        options.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knobs_have_their_names() {
        let host = HostTcp {
            sysctls: vec![("net.ipv4.tcp_sack", "0".to_owned())],
            route: "initcwnd 1".to_owned(),
        };
        let socket = SocketTcp {
            congestion: "reno".to_owned(),
            nagle: true,
            mss: 960,
            send_buffer: None,
            receive_buffer: Some(8192),
            pacing: None,
        };
        assert_eq!(
            words(&host, &socket),
            "have routes with `initcwnd 1`, tcp_sack=0, and sockets with TCP_CONGESTION reno, TCP_MAXSEG 960, \
             SO_RCVBUF 16384 and TCP_WINDOW_CLAMP 8192, set again after each read."
        );
    }
}
