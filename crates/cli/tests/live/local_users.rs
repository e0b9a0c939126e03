//! What other users of the gateway's host can and cannot do.

use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_testbed::five_hosts::{GatewayPosition, TestbedConfig};
use nix::sys::signal::Signal;

use crate::bad_input::as_nobody;
use crate::observation::{ask, watchdog_of};
use crate::stage::{GATEWAY, build, gateways_wanted};
use crate::toolbox::{PATIENCE, wait_until};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("names_cannot_be_taken_from_a_gateway", names_cannot_be_taken),
    ("root_alone_is_answered", root_alone_is_answered),
    ("files_of_a_killed_gateway_are_no_obstacle", killed_gateways_files),
    ("privileges_are_given_up", privileges_are_given_up),
];

/// Names that anybody may bind, and that gateways and emulators once took for locks.
const ABSTRACT: [&str; 4] =
    ["bentpipe-gateway", "bentpipe-gateway-control", "bentpipe-link", "bentpipe-link-0"];

/// Where root's gateways have their locks and sockets.
const DIRECTORY: &str = "/run/bentpipe";

/// Somebody has bound whatever can be bound without rights: a gateway starts and is asked all the
/// same. The kernel does not ask who binds an abstract name, so it need not be another user here.
fn names_cannot_be_taken() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig::default());
    let taken = testbed.g1.run(|| {
        ABSTRACT.map(|name| {
            let address = SocketAddr::from_abstract_name(name).expect("an address");
            UnixListener::bind_addr(&address).expect("bind")
        })
    });
    testbed.start_gateway(GatewayPosition::Near).expect("it starts");
    assert_eq!(ask(&testbed.g1, "status")["totals"]["split"], 0);
    drop(taken);
}

/// Others than root are told so, and have no way to the socket.
fn root_alone_is_answered() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig::default());
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    let mut command = as_nobody(&testbed.g1, GATEWAY);
    let mut asking = Process::start("flows", command.arg("flows")).expect("start");
    let status = asking.wait(PATIENCE).expect("it ends");
    let said = asking.stderr();
    assert!(!status.success() && said.contains("others' answer root"), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    let directory = fs::symlink_metadata(DIRECTORY).expect("a directory");
    assert!(directory.is_dir());
    assert_eq!((directory.uid(), directory.mode() & 0o022), (0, 0));
}

/// A gateway that is stopped leaves no files, and one that is killed has a watchdog to remove them.
/// If both are killed the next gateway takes what they have left.
fn killed_gateways_files() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig::default());
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    assert_eq!(files(&testbed.g1).len(), 3, "{:?}", files(&testbed.g1));
    let mut gateway = testbed.take_gateway(GatewayPosition::Near).expect("gateway");
    let watchdog = watchdog_of(&gateway);
    nix::sys::signal::kill(watchdog, Signal::SIGKILL).expect("kill");
    gateway.kill();
    assert!(!files(&testbed.g1).is_empty(), "else this shows nothing");
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    assert_eq!(ask(&testbed.g1, "status")["totals"]["split"], 0);
    let mut gateway = testbed.take_gateway(GatewayPosition::Near).expect("gateway");
    assert!(gateway.stop().is_some_and(|status| status.success()));
    assert_eq!(files(&testbed.g1), Vec::<String>::new());
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    testbed.take_gateway(GatewayPosition::Near).expect("gateway").kill();
    wait_until("its watchdog removes its files", || match files(&testbed.g1) {
        files if files.is_empty() => Ok(()),
        files => Err(format!("{files:?}")),
    });
}

/// Capabilities, by their bits.
const NET_ADMIN: u64 = 1 << 12;
const BPF: u64 = 1 << 39;

/// Every thread of a gateway and of its watchdog has what it needs, and no way to more.
fn privileges_are_given_up() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(TestbedConfig::default());
    testbed.start_gateway(GatewayPosition::Near).expect("gateway");
    let gateway = testbed.gateway(GatewayPosition::Near).expect("gateway");
    let watchdog = watchdog_of(gateway).as_raw().cast_unsigned();
    for (process, bounds) in [(gateway.id(), NET_ADMIN | BPF), (watchdog, 0)] {
        // A thread or process that has just begun is given a moment to do it.
        wait_until("privileges are given up", || check_threads(process, bounds));
        let limits = fs::read_to_string(format!("/proc/{process}/limits")).expect("limits");
        let core = limits.lines().find(|line| line.starts_with("Max core file size"));
        let words: Vec<&str> = core.expect("a limit").split_whitespace().collect();
        // The host's own limit stays, for a core that is asked for by a second SIGQUIT.
        assert_eq!(words[4], "0", "{core:?}");
    }
    // The main thread, one for questions, one for metrics, one for the devices.
    let threads = fs::read_dir(format!("/proc/{}/task", gateway.id())).expect("threads").count();
    assert!(threads >= 4, "{threads}");
}

/// What a thread of `process` has too much, if one has.
fn check_threads(process: u32, bounds: u64) -> Result<(), String> {
    for thread in fs::read_dir(format!("/proc/{process}/task")).expect("threads") {
        let path = thread.expect("a thread").path().join("status");
        // One that runs a program may have ended.
        let Ok(status) = fs::read_to_string(path) else { continue };
        let field = |key: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
            line.unwrap_or_else(|| panic!("no {key} in {status}")).trim().to_owned()
        };
        let bits = |key: &str| u64::from_str_radix(&field(key), 16).expect("bits");
        let answers = field("Name") == "bp-serve";
        let permitted = if answers { 0 } else { bounds };
        let sound = ["CapEff", "CapPrm", "CapInh", "CapAmb"]
            .iter()
            .all(|key| bits(key) & !permitted == 0)
            // A watchdog cannot lower the bound that the gateway has left it.
            && bits("CapBnd") & !(NET_ADMIN | BPF) == 0
            && field("NoNewPrivs") == "1";
        if !sound {
            return Err(status);
        }
    }
    Ok(())
}

/// What there is in the directory of a namespace.
fn files(namespace: &Namespace) -> Vec<String> {
    let number = namespace.run(|| fs::metadata("/proc/thread-self/ns/net").expect("ns").ino());
    let number = format!("{}-", number.expect("a number"));
    let files = fs::read_dir(DIRECTORY).expect("a directory");
    files
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        // A link that was killed leaves its lock, and the number is used again.
        .filter(|name| name.starts_with(&number) && name.contains("-gateway"))
        .collect()
}
