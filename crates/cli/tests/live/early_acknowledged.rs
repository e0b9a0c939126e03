//! What a gateway owes for its early acknowledgments: it holds every byte until the other side has
//! it, and repairs alone what the satellite loses.

use std::sync::Arc;
use std::thread;

use bentpipe_core::units::Probability;
use bentpipe_linux::netns::Namespace;
use bentpipe_testbed::five_hosts::{GatewayPosition, TestbedConfig};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::links::ask as ask_link;
use crate::observation::ask;
use crate::stage::{FAMILIES, StageEnds, build, gateways_wanted, narrow_link, start_gateways};
use crate::toolbox::{accept, assert_same, content, receive, send, wait_until};

pub(crate) const CASES: &[(&str, fn())] =
    &[("what_the_satellite_loses_is_held_and_repaired_by_the_gateway_alone", held_and_repaired)];

/// Bytes: 1.6 s of the link.
const SIZE: usize = 2_000_000;

/// Segments that the kernel of this host has retransmitted.
fn retransmitted(host: &Namespace) -> u64 {
    let text = host.output("cat", &["/proc/net/snmp"]).expect("counters");
    let mut lines = text.lines().filter(|line| line.starts_with("Tcp:"));
    let (names, values) = (lines.next().expect("names"), lines.next().expect("values"));
    let mut columns = names.split_whitespace().zip(values.split_whitespace());
    let (_, value) = columns.find(|(name, _)| *name == "RetransSegs").expect("RetransSegs");
    value.parse().expect("a number")
}

fn held_and_repaired() {
    if !gateways_wanted() {
        return;
    }
    let link = narrow_link().with_loss(Probability::new(0.02).expect("a probability"));
    let mut testbed = build(TestbedConfig { link: Some(link), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let link = Pid::from_raw(testbed.emulator().expect("a link").id().cast_signed());
    let testbed = Arc::new(testbed);
    for family in FAMILIES {
        let ends = StageEnds::of(&testbed, family);
        let (listener, address) = ends.listen();
        let (client, server) = (ends.connect(address), accept(&listener));
        let sent = content(31, SIZE);
        let before = retransmitted(&testbed.h1);
        let near = testbed.gateway_at(GatewayPosition::Near).1;
        let name = client.local_addr().expect("address").to_string();
        let flow = || {
            let flows = ask(near, "flows");
            let mut flows = flows.as_array().cloned().unwrap_or_default().into_iter();
            flows.find(|flow| flow["client"] == name).unwrap_or_default()
        };
        let lost = || {
            let shown = ask_link(&["show", "--json", "--link", &link.to_string()]);
            let shown: Value = serde_json::from_str(&shown.expect("an answer")).expect("JSON");
            shown["directions"][0]["lost"]["packets"].as_u64().expect("a count")
        };
        let lost_before = lost();
        thread::scope(|scope| {
            scope.spawn(|| send(&client, &sent));
            let begun = receive(&server, SIZE / 4);
            // What the link would carry is held, and acknowledged to the host all the same.
            kill(link, Signal::SIGSTOP).expect("a signal");
            wait_until("bytes are held", || match flow() {
                flow if flow["held_bytes"].as_u64() > Some(100_000) => Ok(()),
                flow => Err(flow.to_string()),
            });
            kill(link, Signal::SIGCONT).expect("a signal");
            let rest = receive(&server, SIZE - begun.len());
            assert_same("an upload", &sent, &[begun, rest].concat());
        });
        let (flow, lost) = (flow(), lost() - lost_before);
        let repaired = flow["legs"]["server"]["retransmissions"].as_u64().unwrap_or_default();
        // (On a machine that holds the gateway up a timer or a probe of the host's may be early.)
        let by_host = retransmitted(&testbed.h1) - before;
        println!(
            "{lost} lost, {repaired} repaired by the gateway, {by_host} sent again by the host"
        );
        // One or two may have been no data.
        assert!(lost > 0 && repaired + 2 >= lost, "{lost} lost, {repaired} repaired: {flow}");
    }
}
