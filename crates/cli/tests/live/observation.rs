//! What a running gateway tells about itself, and what becomes of connections when it hangs.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{BOTH, GatewayPosition, Testbed, TestbedConfig};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::life::{await_unchanged, exchange, state};
use crate::stage::{
    FAMILIES, Family, GATEWAY, StageEnds, build, fast_link, gateways_wanted, start_gateways,
};
use crate::toolbox::{accept, assert_same, await_said, content, receive, send, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("flows_are_shown", flows_are_shown),
    ("stopped_process_is_passed_by", stopped_process_is_passed_by),
    ("transfers_meet_a_hang", transfers_meet_a_hang),
    ("flows_outlive_a_standstill", flows_outlive_a_standstill),
    ("killed_gateway_is_cleared_away", killed_gateway_is_cleared_away),
];

/// Flows, totals and metrics of both gateways agree with what was sent.
fn flows_are_shown() {
    if !gateways_wanted() {
        return;
    }
    const SIZE: usize = 1_000_000;
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let testbed = Arc::new(testbed);
    let pairs: Vec<(TcpStream, TcpStream, SocketAddr)> = FAMILIES
        .into_iter()
        .map(|family| {
            let ends = StageEnds::of(&testbed, family);
            let (listener, address) = ends.listen();
            let client = ends.connect(address);
            let server = accept(&listener);
            thread::scope(|scope| {
                scope.spawn(|| send(&server, &content(21, SIZE)));
                assert_eq!(receive(&client, SIZE).len(), SIZE);
            });
            (client, server, address)
        })
        .collect();
    for position in BOTH {
        let (_, namespace) = testbed.gateway_at(position);
        await_nothing_held(namespace);
        let flows = ask(namespace, "flows");
        assert_eq!(flows.as_array().map(Vec::len), Some(pairs.len()), "{flows}");
        for (client, _, address) in &pairs {
            let client = client.local_addr().expect("address").to_string();
            let flow = flows.as_array().into_iter().flatten().find(|it| it["client"] == client);
            let flow = flow.unwrap_or_else(|| panic!("no {client} in {flows}"));
            assert_eq!(
                (&flow["server"], &flow["state"]),
                (&address.to_string().into(), &"open".into())
            );
            let leg = &flow["legs"]["client"];
            assert_eq!(leg["delivered_bytes"], SIZE, "{flow}");
            assert_eq!(flow["legs"]["server"]["received_bytes"], SIZE, "{flow}");
            assert_eq!((&leg["backlog_bytes"], &flow["held_bytes"]), (&0.into(), &0.into()));
            assert!(leg["srtt_s"].as_f64() > Some(0.0), "{flow}");
            assert!(leg["goodput_bps"].as_u64() > Some(0), "{flow}");
        }
        let status = ask(namespace, "status");
        assert_eq!(status["flows"]["open"], pairs.len(), "{status}");
        assert_eq!(status["totals"]["split"], pairs.len(), "{status}");
        let link = &status["satellite_link"];
        let rate = fast_link().rate.bits_per_sec();
        assert_eq!(
            (&link["losses"], &link["circuit_broken"], &link["rate_bps"]),
            (&"link".into(), &false.into(), &rate.into()),
            "{status}"
        );
        assert!(link["used_at_bps"].as_u64().is_some_and(|used| used <= rate), "{status}");
        let url = format!("http://{}/metrics", Testbed::METRICS);
        let metrics = namespace.output("curl", &["-sS", "--fail", &url]).expect("metrics");
        let open = format!("bentpipe_flows{{state=\"open\"}} {}", pairs.len());
        assert!(metrics.lines().any(|line| line == open), "{metrics}");
        // Nobody but root is told.
        let asked =
            namespace.output("setpriv", &["--reuid", "65534", "--clear-groups", GATEWAY, "flows"]);
        assert!(asked.is_err(), "{asked:?}");
    }
}

/// A gateway that hangs: within the time in which a SYN is repeated the kernel forwards. When it
/// goes on it splits again, and what began meanwhile ends well.
fn stopped_process_is_passed_by() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(GatewayPosition::Near).expect("gateway");
    let testbed = Arc::new(testbed);
    gateway.signal(Signal::SIGSTOP);
    for family in FAMILIES {
        // The first SYN may wait in the device; a later one finds its way.
        exchange(&StageEnds::of(&testbed, family), 100_000);
    }
    let ends = StageEnds::of(&testbed, FAMILIES[0]);
    let (listener, address) = ends.listen();
    let client = ends.connect(address);
    let server = accept(&listener);
    send(&client, &content(22, 1_000));
    assert_eq!(receive(&server, 1_000), content(22, 1_000));
    await_said(&gateway, "does not answer", 1);

    gateway.signal(Signal::SIGCONT);
    await_said(&gateway, "answers again", 1);
    let older = content(23, 500_000);
    thread::scope(|scope| {
        // Read at the same time: who would hold it, if the far gateway had been too busy to split?
        scope.spawn(|| send(&server, &older));
        assert_same("older than the return", &older, &receive(&client, older.len()));
    });
    FAMILIES.into_iter().for_each(|family| await_split(&testbed, GatewayPosition::Near, family));
    // All that had begun meanwhile went by.
    assert!(!gateway.stderr().contains("hung for a while"), "{}", gateway.stderr());
    assert!(gateway.stop().is_some_and(|status| status.success()));
}

/// Transfers under way when a gateway hangs and comes back go on, and end whole.
fn transfers_meet_a_hang() {
    if !gateways_wanted() {
        return;
    }
    const SIZE: usize = 30_000_000;
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(GatewayPosition::Near).expect("gateway");
    let testbed = Arc::new(testbed);
    let sent = content(24, SIZE);
    thread::scope(|scope| {
        for family in FAMILIES {
            let ends = StageEnds::of(&testbed, family);
            let (listener, address) = ends.listen();
            let client = ends.connect(address);
            let server = accept(&listener);
            let sent = &sent;
            // One download, one upload. What the reader sees is what counts.
            let (from, to) =
                if family == FAMILIES[0] { (server, client) } else { (client, server) };
            scope.spawn(move || _ = std::io::Write::write_all(&mut &from, sent));
            scope.spawn(move || assert_same("through a hang", sent, &receive(&to, SIZE)));
        }
        thread::sleep(Duration::from_millis(700));
        gateway.signal(Signal::SIGSTOP);
        await_said(&gateway, "does not answer", 1);
        thread::sleep(Duration::from_secs(2));
        gateway.signal(Signal::SIGCONT);
    });
    exchange(&StageEnds::of(&testbed, FAMILIES[0]), 100_000);
    ["answers again", "hung for a while"].iter().for_each(|what| await_said(&gateway, what, 1));
}

/// When the whole machine stands still nothing is forwarded meanwhile, and what is split stays so.
fn flows_outlive_a_standstill() {
    if !gateways_wanted() {
        return;
    }
    const SIZE: usize = 30_000_000;
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    start_gateways(&mut testbed);
    let mut gateway = testbed.take_gateway(GatewayPosition::Near).expect("gateway");
    let testbed = Arc::new(testbed);
    let watchdog = watchdog_of(&gateway);
    let sent = content(25, SIZE);
    let ends = StageEnds::of(&testbed, FAMILIES[0]);
    let (listener, address) = ends.listen();
    let client = ends.connect(address);
    let server = accept(&listener);
    thread::scope(|scope| {
        scope.spawn(|| send(&server, &sent));
        scope.spawn(|| assert_same("through a standstill", &sent, &receive(&client, SIZE)));
        thread::sleep(Duration::from_millis(500));
        kill(watchdog, Signal::SIGSTOP).expect("a signal");
        gateway.signal(Signal::SIGSTOP);
        thread::sleep(Duration::from_secs(2));
        gateway.signal(Signal::SIGCONT);
        kill(watchdog, Signal::SIGCONT).expect("a signal");
    });
    let status = ask(&testbed.g1, "status");
    let released = status["totals"]["released"].as_object().expect("by reason");
    assert!(!released.is_empty() && released.values().all(|count| *count == 0), "{status}");
    let said = gateway.stderr();
    assert!(!said.contains("does not answer"), "{said}");
}

/// What a killed gateway leaves is removed by its watchdog, and another one can begin at once.
fn killed_gateway_is_cleared_away() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let before = state(&testbed.g1);
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    testbed.take_gateway(GatewayPosition::Near).expect("gateway").kill();
    await_unchanged(&before, &testbed.g1);
    for _ in 0..3 {
        testbed.start_gateway(GatewayPosition::Near).expect("gateway");
        testbed.take_gateway(GatewayPosition::Near).expect("gateway").kill();
    }
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    await_split(&Arc::new(testbed), GatewayPosition::Near, FAMILIES[0]);
}

/// The process that watches over a gateway.
pub(crate) fn watchdog_of(gateway: &Process) -> Pid {
    let path = format!("/proc/{0}/task/{0}/children", gateway.id());
    let children = std::fs::read_to_string(path).expect("its children");
    let watches = |child: &&str| {
        let command = std::fs::read_to_string(format!("/proc/{child}/cmdline"));
        command.is_ok_and(|command| command.contains("watchdog"))
    };
    let watchdog = children.split_whitespace().find(watches).expect("a watchdog");
    Pid::from_raw(watchdog.parse().expect("a number"))
}

/// Waits until new connections are split by the gateway at `position`: after a repair, or on a
/// machine that holds it up, the kernel forwards for a while.
pub(crate) fn await_split(testbed: &Arc<Testbed>, position: GatewayPosition, family: Family) {
    let split = || ask(testbed.gateway_at(position).1, "status")["totals"]["split"].as_u64();
    wait_until("new connections are split", || {
        let before = split();
        exchange(&StageEnds::of(testbed, family), 10_000);
        let after = split();
        if after > before { Ok(()) } else { Err(format!("{family}: {before:?}, then {after:?}")) }
    });
}

/// Waits until the gateway in `namespace` holds no bytes: all that it has received is acknowledged.
pub(crate) fn await_nothing_held(namespace: &Namespace) {
    wait_until("nothing held", || {
        let status = ask(namespace, "status");
        if status["held_bytes"] == 0 { Ok(()) } else { Err(status.to_string()) }
    });
}

/// What the gateway in `namespace` answers, as JSON.
pub(crate) fn ask(namespace: &Namespace, topic: &str) -> Value {
    // On a busy machine a gateway may not come to answer in the time that its command has.
    let answer = wait_until("an answer", || {
        namespace.output(GATEWAY, &[topic, "--json"]).map_err(|error| error.to_string())
    });
    serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error} in {answer}"))
}
