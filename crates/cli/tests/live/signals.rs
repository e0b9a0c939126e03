//! Signals that operators, terminals and tools send: none of them costs a connection, and SIGHUP
//! reads the file again.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Arc;

use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{GatewayPosition, Testbed, TestbedConfig};
use nix::libc;
use nix::sys::signal::Signal;
use serde_json::Value;

use crate::hangs::uploads;
use crate::life::{await_unchanged, exchange, state};
use crate::observation::{ask, watchdog_of};
use crate::pair::{pairs, part, talk};
use crate::stage::{FAMILIES, Family, StageEnds, build, fast_link, gateways_wanted};
use crate::toolbox::{PATIENCE, accept, await_said, content, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("uploads_meet_every_signal", uploads_meet_every_signal),
    ("the_second_quit_ends_it_at_once", the_second_quit_ends_it_at_once),
    ("a_file_is_read_again", a_file_is_read_again),
];

/// What has no meaning to a gateway, and would end it; the last is SIGRTMIN + 1.
const MEANINGLESS: [i32; 9] = [
    libc::SIGUSR1,
    libc::SIGALRM,
    libc::SIGVTALRM,
    libc::SIGPROF,
    libc::SIGIO,
    libc::SIGPWR,
    libc::SIGXCPU,
    libc::SIGXFSZ,
    35,
];

/// Sends a signal of this number, which may be a real-time one.
fn send(process: i32, number: i32) {
    let kill = std::process::Command::new("kill")
        .arg(format!("-{number}"))
        .arg(process.to_string())
        .status();
    assert!(kill.expect("kill").success());
}

/// The gateway and its watchdog get each of them, then the gateway is to end by SIGQUIT.
fn uploads_meet_every_signal() {
    let said = uploads(|gateway| {
        let own = gateway.id().cast_signed();
        let watchdog = watchdog_of(gateway).as_raw();
        for number in MEANINGLESS.into_iter().chain([libc::SIGHUP, libc::SIGPIPE]) {
            send(own, number);
            send(watchdog, number);
        }
        send(watchdog, libc::SIGQUIT);
        send(watchdog, libc::SIGQUIT);
        await_said(gateway, "is ignored: SIGTERM ends it in order", 1);
        await_said(gateway, "read again: nothing has changed", 1);
        gateway.signal(Signal::SIGSTOP);
        await_said(gateway, "does not answer", 1);
        gateway.signal(Signal::SIGCONT);
        await_said(gateway, "hung for a while", 1);
        gateway.signal(Signal::SIGQUIT);
        let status = gateway.wait(PATIENCE).expect("it ends");
        assert!(status.success(), "{status}: {}", gateway.stderr());
    });
    if let Some(said) = said {
        assert!(said.contains("draining; another signal ends it at once"), "{said}");
    }
}

/// While it drains: it waits for a host that reads nothing.
fn the_second_quit_ends_it_at_once() {
    if !gateways_wanted() {
        return;
    }
    let testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let before = state(&testbed.g1);
    let mut gateway = testbed.run_gateway(GatewayPosition::Near).expect("a gateway");
    let testbed = Arc::new(testbed);
    let ends = StageEnds::of(&testbed, Family::V4);
    let (listener, address) = ends.listen();
    let client = ends.connect(address);
    let server = accept(&listener);
    client.set_nonblocking(true).expect("it does not wait");
    // More than the server's kernel takes: the least that a stream may hold is left here.
    let more = content(1, 1_000_000);
    wait_until("bytes in the gateway", || {
        while (&client).write(&more).is_ok() {}
        let status = ask(&testbed.g1, "status");
        match status["held_bytes"].as_u64() > Some(60_000) {
            true => Ok(()),
            false => Err(status.to_string()),
        }
    });
    gateway.signal(Signal::SIGQUIT);
    await_said(&gateway, "draining", 1);
    gateway.signal(Signal::SIGQUIT);
    let status = gateway.wait(PATIENCE).expect("it ends");
    assert_eq!(status.signal(), Some(libc::SIGQUIT), "{status}: {}", gateway.stderr());
    drop((client, server));
    await_unchanged(&before, &testbed.g1);
    FAMILIES.into_iter().for_each(|family| exchange(&StageEnds::of(&testbed, family), 20_000));
}

/// Another policy is for new connections; what is wrong, may not be read or cannot change changes
/// nothing.
fn a_file_is_read_again() {
    if !gateways_wanted() {
        return;
    }
    let testbed = build(TestbedConfig { link: Some(fast_link()), ..TestbedConfig::default() });
    let before = state(&testbed.g1);
    let mut gateway = testbed.run_gateway(GatewayPosition::Near).expect("a gateway");
    let path = testbed.files().join("G1.toml");
    let testbed = Arc::new(testbed);
    let first = fs::read_to_string(&path).expect("its file");
    let old = pairs(&testbed, 1);
    old.iter().for_each(|pair| talk(pair, 20_000));
    assert_eq!(ask(&testbed.g1, "status")["reload"], Value::Null);

    let policy =
        format!("{first}[policy]\n[[policy.rule]]\naction = \"forward\"\nport = \"1-65535\"\n");
    fs::write(&path, &policy).expect("a file");
    let status = reload(&testbed, &mut gateway, "G1.toml read again: policy changed");
    assert_eq!(status["reload"]["changed"], serde_json::json!(["policy"]), "{status}");
    let new = pairs(&testbed, 1);
    new.iter().chain(&old).for_each(|pair| talk(pair, 20_000));
    let totals = &ask(&testbed.g1, "status")["totals"];
    assert_eq!((&totals["split"], &totals["forwarded_flows"]["policy"]), (&2.into(), &2.into()));

    for (text, why) in [
        (policy.replace("\"forward\"", "\"foreward\""), "G1.toml:11:10: "),
        (policy.replace("lan0", "eth7"), "G1.toml: interfaces.lan cannot change while"),
        (
            policy.replace("[policy]", "[splitting]\nfin = \"immediate\"\n[policy]"),
            "splitting.fin cannot change",
        ),
        ("\0".repeat(4096), "G1.toml:1:4097: "),
    ] {
        fs::write(&path, text).expect("a file");
        let status = reload(&testbed, &mut gateway, why);
        let error = status["reload"]["error"].as_str();
        assert!(error.is_some_and(|error| error.contains(why)), "{status}");
    }
    // Root's right to read what others keep for themselves is given up.
    fs::write(&path, &first).expect("a file");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its mode");
    std::os::unix::fs::chown(&path, Some(12_345), None).expect("its owner");
    reload(&testbed, &mut gateway, "Permission denied");
    fs::remove_file(&path).expect("a file");
    reload(&testbed, &mut gateway, "No such file");
    let more = pairs(&testbed, 1);
    let totals = &ask(&testbed.g1, "status")["totals"];
    assert_eq!((&totals["split"], &totals["forwarded_flows"]["policy"]), (&2.into(), &4.into()));

    fs::write(&path, format!("{first}[limits]\nmemory = \"64MiB\"\n")).expect("a file");
    let status = reload(&testbed, &mut gateway, "G1.toml read again: limits, policy changed");
    assert_eq!(status["memory_bytes"], 64 << 20, "{status}");
    let last = pairs(&testbed, 1);
    assert_eq!(ask(&testbed.g1, "status")["totals"]["split"], 4);
    for pair in [old, new, more, last].into_iter().flatten() {
        talk(&pair, 100_000);
        part(pair);
    }
    let status = gateway.stop().expect("it ends");
    assert!(status.success(), "{status}: {}", gateway.stderr());
    await_unchanged(&before, &testbed.g1);
}

/// Has the file read again. The status then, once the log has `said` it.
fn reload(testbed: &Testbed, gateway: &mut Process, said: &str) -> Value {
    let before = gateway.stderr().len();
    gateway.signal(Signal::SIGHUP);
    wait_until(said, || {
        let log = gateway.stderr();
        let news = &log[before..];
        match news.lines().filter(|line| line.contains(said)).count() {
            1 => Ok(()),
            _ => Err(news.to_owned()),
        }
    });
    ask(&testbed.g1, "status")
}
