//! What of a scenario cannot be done on real stacks: each by the key that asks for it, and why.

use super::host_tcp::{Expressed, HostTcp, SocketTcp, express};
use crate::browser::Browser;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_linux::kernel_version::KernelVersion;
use bentpipe_scenario::{
    Ecmp, FaultKind, Flow, ForeignProxy, LinkIndex, NodeIndex, NodeKind, Scenario, SeriesRecording,
    Sharing, Workload,
};
use std::fmt;

/// More connections at a time would be more threads than a machine likes.
const MAX_FLOWS: u32 = 500;

/// What is done about a host's TCP that Linux does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stacks {
    /// It is refused.
    #[default]
    AsAsked,
    /// It is left as Linux has it.
    Any,
}

/// A key of a scenario that cannot be had live.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Its path: `flow.web.workload=telnet`.
    pub key: String,
    /// Why not.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.key, self.why)
    }
}

impl Refusal {
    fn new(key: String, why: &str) -> Refusal {
        Refusal { key, why: why.to_owned() }
    }
}

/// TCP of the hosts, and of the flows' ends (`from` first).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stack {
    /// Of each node that is a host, or a gateway that is a foreign program.
    pub hosts: Vec<Option<HostTcp>>,
    /// Of each flow.
    pub flows: Vec<[SocketTcp; 2]>,
    /// What Linux does not have, and was left as Linux has it.
    pub left: Vec<Refusal>,
}

/// What of `scenario` cannot be done live. A `browser` of today takes HTTP/2.
pub fn refusals(scenario: &Scenario, browser: Option<Browser>) -> Vec<Refusal> {
    let mut all = Vec::new();
    for node in &scenario.nodes {
        if let NodeKind::Router(ecmp) = node.kind
            && ecmp != Ecmp::Off
        {
            all.push(Refusal::new(
                format!("router.{}.ecmp", node.name),
                "the kernel chooses by another hash: off is live",
            ));
        }
    }
    for (index, link) in scenario.links.iter().enumerate() {
        if link.directions().into_iter().any(|(_, _, way)| way.impairments.tells_losses) {
            let key = format!("link.{}.loss-notification", link.name);
            all.push(Refusal::new(key, "TCP has no option for it: it is simulated only"));
        }
        if scenario.shares_medium(LinkIndex(index)) {
            let why = "both directions of one link share a medium live, several links do not: each is a process of its own";
            all.push(Refusal::new(format!("link.{}.medium", link.name), why));
        }
    }
    for middlebox in &scenario.middleboxes {
        all.push(Refusal::new(
            format!("middlebox.{}", middlebox.name),
            "middleboxes are simulated only",
        ));
    }
    for fault in &scenario.faults {
        // What is down is out: the link's own emulator sees to that.
        if !matches!(fault.kind, FaultKind::LinkDown(_)) {
            let why = "route changes and crashes are simulated only; link-down is live";
            all.push(Refusal::new(format!("fault.{}", fault.name), why));
        }
    }
    let ours = |flow: &&Flow| browser.is_none_or(|browser| !browser.loads(&flow.workload));
    for flow in scenario.flows.iter().filter(ours) {
        let workload = match flow.workload {
            Workload::Telnet { .. } => "telnet",
            Workload::Web { .. } => "web",
            Workload::Poisson { .. } => "poisson",
            Workload::Udp { .. } => "udp",
            Workload::Http2(_) => "http/2",
            Workload::Bulk { .. }
            | Workload::RequestResponse { .. }
            | Workload::Http(_)
            | Workload::Ping { .. } => continue,
        };
        all.push(Refusal::new(
            format!("flow.{}.workload={workload}", flow.name),
            "bulk, request-response, http/1.0, http/1.1, http/1.1-pipelined and ping are live",
        ));
    }
    let flows: u32 = scenario.flows.iter().map(|flow| flow.count).sum();
    if flows > MAX_FLOWS {
        all.push(Refusal {
            key: "flow.NAME.count".to_owned(),
            why: format!("{flows} flows; a testbed carries {MAX_FLOWS} at most"),
        });
    }
    all
}

/// What `[record]` asks for and a testbed does not record: it changes nothing of what is measured.
pub fn unrecorded(scenario: &Scenario) -> Vec<&'static str> {
    let SeriesRecording { flow, link, gateway, middlebox, packets, .. } = &scenario.record;
    let asked = [
        (!flow.is_empty(), "record.flow"),
        (!link.is_empty(), "record.link"),
        (!gateway.is_empty(), "record.gateway"),
        (!middlebox.is_empty(), "record.middlebox"),
        (*packets, "record.packets"),
    ];
    asked.into_iter().filter(|(asked, _)| *asked).map(|(_, name)| name).collect()
}

/// The TCPs of `scenario` as Linux has them.
///
/// # Errors
/// What it does not have, unless `stacks` are any.
pub fn stack(scenario: &Scenario, stacks: Stacks) -> Result<Stack, Vec<Refusal>> {
    let kernel = KernelVersion::running();
    let mut stack = Stack::default();
    let mut refused = Vec::new();
    for node in &scenario.nodes {
        let (tcp, share) = match &node.kind {
            NodeKind::Host { tcp, share } => (tcp, share),
            NodeKind::Gateway(gateway) => {
                let host = gateway.proxy.as_ref().map(|proxy| {
                    let (host, of_proxy) = of_proxy(&node.name, proxy, kernel);
                    refused.extend(of_proxy);
                    host
                });
                stack.hosts.push(host);
                continue;
            }
            NodeKind::Router(_) => {
                stack.hosts.push(None);
                continue;
            }
        };
        let Expressed { host, refused: of_host, .. } = express(tcp, kernel);
        refused.extend(of_host.into_iter().map(|one| Refusal {
            key: format!("host.{}: {}", node.name, one.setting),
            why: one.why.to_owned(),
        }));
        if *share != Sharing::Off {
            let why = "Linux keeps only thresholds and round-trip times (tcp_metrics)".to_owned();
            refused.push(Refusal { key: format!("host.{}.share", node.name), why });
        }
        stack.hosts.push(Some(host));
    }
    for flow in &scenario.flows {
        let mut end = |key: &str, at: NodeIndex, tcp: &ConnectionConfig| -> SocketTcp {
            let expressed = express(tcp, kernel);
            refused.extend(of_flow(scenario, flow, key, at, (tcp, &expressed), kernel));
            expressed.socket
        };
        let from = end("tcp-from", flow.from, &flow.tcp_from);
        let to = end("tcp-to", flow.to, &flow.tcp_to);
        stack.flows.push([from, to]);
    }
    if refused.is_empty() || stacks == Stacks::Any {
        stack.left = refused;
        Ok(stack)
    } else {
        Err(refused)
    }
}

/// The TCP of a foreign gateway's machine, and what of it Linux or the program does not have.
fn of_proxy(gateway: &str, proxy: &ForeignProxy, kernel: KernelVersion) -> (HostTcp, Vec<Refusal>) {
    let Expressed { host, socket, refused } = express(&proxy.tcp, kernel);
    let key = format!("gateway.{gateway}.proxy-tcp");
    let mut all: Vec<Refusal> = refused
        .iter()
        .map(|one| Refusal::new(format!("{key}: {}", one.setting), one.why))
        .collect();
    let linux = ConnectionConfig::preset("linux").map(|linux| express(&linux, kernel).socket);
    // The congestion control is a route's as well as a socket's.
    let own =
        SocketTcp { congestion: socket.congestion.clone(), ..linux.unwrap_or(socket.clone()) };
    if socket != own {
        let why = "mss, nagle, pacing and buffers of a fixed size are set on sockets, which a foreign program \
                   opens itself";
        all.push(Refusal::new(key, why));
    }
    (host, all)
}

/// What one end of a flow wants beyond its host: a connection has its own socket, and nothing else.
fn of_flow(
    scenario: &Scenario,
    flow: &Flow,
    key: &str,
    at: NodeIndex,
    (tcp, expressed): (&ConnectionConfig, &Expressed),
    kernel: KernelVersion,
) -> Vec<Refusal> {
    let node = scenario.node(at);
    let NodeKind::Host { tcp: own, .. } = &node.kind else { return Vec::new() };
    if **own == *tcp {
        return Vec::new();
    }
    let of_host = express(own, kernel);
    let news = expressed.refused.iter().filter(|one| !of_host.refused.contains(one));
    let mut all: Vec<Refusal> = news
        .map(|one| Refusal {
            key: format!("flow.{}.{key}: {}", flow.name, one.setting),
            why: one.why.to_owned(),
        })
        .collect();
    // The congestion control is a socket's as well as a route's.
    let route = |host: &HostTcp| host.route.split(" congctl").next().unwrap_or_default().to_owned();
    let (theirs, ours) = (&of_host.host, &expressed.host);
    if theirs.sysctls != ours.sysctls || route(theirs) != route(ours) {
        all.push(Refusal {
            key: format!("flow.{}.{key}", flow.name),
            why: format!(
                "Linux sets this for all connections of a host: say it of host.{}.tcp (a flow's own are \
                 mss, buffers of a fixed size, congestion, pacing and nagle)",
                node.name
            ),
        });
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(more: &str) -> Scenario {
        let text = format!(
            "[run]\nduration = \"1s\"\n[host.a]\ntcp = \"linux\"\n[host.b]\ntcp = \"linux\"\n\
             [link.l]\nbetween = [\"a\", \"b\"]\n[flow.x]\nfrom = \"a\"\nto = \"b\"\n{more}"
        );
        Scenario::parse(&text).unwrap()
    }

    #[test]
    fn what_is_live_is_not_refused() {
        let plain = scenario("tcp = \"congestion=standard,slow-start=standard,mss=1000\"");
        assert_eq!(refusals(&plain, None), []);
        let stack = stack(&plain, Stacks::AsAsked).unwrap();
        assert_eq!(stack.flows[0][0].congestion, "reno");
        assert_eq!(stack.flows[0][1].mss, 1000);
    }

    #[test]
    fn what_is_not_is_named() {
        let asked = scenario(
            "workload = \"telnet\"\n[fault.f]\nkind = \"route-change\"\nat = \"0s\"\nlink = \"l\"\n",
        );
        let lines: Vec<String> = refusals(&asked, None).iter().map(Refusal::to_string).collect();
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("fault.f: ") && lines[1].starts_with("flow.x.workload=telnet: ")
        );
        let rough = scenario(
            "bytes = \"1MB\"\nbarrier = \"go\"\n[link.m]\nbetween = [\"a\", \"b\"]\nmtu = 1000\n\
             rate = \"1Mbit/s\"\nmedium = \"wire\"\njitter = \"1ms\"\nback = { duplicate = 0.1 }\n\
             [link.half]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\nmedium = \"own\"\n\
             [link.n]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\nmedium = \"wire\"\n",
        );
        let keys: Vec<String> = refusals(&rough, None).into_iter().map(|one| one.key).collect();
        assert_eq!(keys, ["link.m.medium", "link.n.medium"]);
        let own = scenario("tcp = \"recovery=fack,sack=off\"");
        let refused = stack(&own, Stacks::AsAsked).unwrap_err();
        assert!(refused.iter().any(|one| one.key == "flow.x.tcp-from: recovery=fack"));
        assert!(
            refused.iter().any(|one| one.key == "flow.x.tcp-to" && one.why.contains("host.b.tcp"))
        );
        let any = stack(&own, Stacks::Any).unwrap();
        assert_eq!(any.left, refused);
        let recorded = scenario("[record]\nflow = [\"cwnd\"]\n");
        assert_eq!(unrecorded(&recorded), ["record.flow"]);
    }

    #[test]
    fn a_foreign_gateway_has_what_its_machine_can_be_set_to() {
        let of = |tcp: &str| {
            let scenario = Scenario::parse(&format!(
                "tcp = \"linux\"\n[run]\nduration = \"1s\"\n[host.a]\n[host.b]\n\
                 [gateway.g]\nlan-links = \"l\"\nproxy = \"pepsal\"\nproxy-tcp = \"{tcp}\"\n\
                 [link.l]\nbetween = [\"a\", \"g\"]\n[link.s]\nbetween = [\"g\", \"b\"]\n"
            ));
            stack(&scenario.unwrap(), Stacks::AsAsked)
        };
        let hybla = of("congestion=hybla:rtt0=25000us,slow-start=standard,iw=4").unwrap();
        let host = hybla.hosts[2].as_ref().unwrap();
        assert_eq!(host.route, "initcwnd 4 rto_min 200ms congctl hybla");
        for (tcp, key) in [
            ("recovery=fack", "gateway.g.proxy-tcp: recovery=fack"),
            ("mss=1000", "gateway.g.proxy-tcp"),
            ("nagle=off", "gateway.g.proxy-tcp"),
        ] {
            let refused = of(tcp).unwrap_err();
            assert!(refused.iter().any(|one| one.key == key), "{tcp}: {refused:?}");
        }
    }
}
