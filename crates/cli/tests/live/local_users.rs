//! What other users of the gateway's host can and cannot do.

use std::fs;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::time::Duration;

use bentpipe_net::netns::Namespace;
use bentpipe_net::netns::process::Process;
use bentpipe_net::testbed::{Place, Plan};
use nix::sys::signal::Signal;

use crate::bad_input::as_nobody;
use crate::observation::{ask, watchdog_of};
use crate::stage::{build, gateways_wanted};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("names_cannot_be_taken_from_a_gateway", names_cannot_be_taken),
    ("root_alone_is_answered", root_alone_is_answered),
    ("files_of_a_killed_gateway_are_no_obstacle", killed_gateways_files),
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
    let mut testbed = build(Plan::default());
    let taken = testbed.g1.run(|| {
        ABSTRACT.map(|name| {
            let address = SocketAddr::from_abstract_name(name).expect("an address");
            UnixListener::bind_addr(&address).expect("bind")
        })
    });
    testbed.start_gateway(Place::Near).expect("it starts");
    assert_eq!(ask(&testbed.g1, "status")["totals"]["split"], 0);
    drop(taken);
}

/// Others than root are told so, and have no way to the socket.
fn root_alone_is_answered() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(Plan::default());
    testbed.start_gateway(Place::Near).expect("gateway");
    let mut command = as_nobody(&testbed.g1);
    let mut asking = Process::start("flows", command.args(["gateway", "flows"])).expect("start");
    let status = asking.wait(Duration::from_secs(10)).expect("it ends");
    let said = asking.stderr();
    assert!(!status.success() && said.contains("root alone"), "{said}");
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    let directory = fs::symlink_metadata(DIRECTORY).expect("a directory");
    assert!(directory.is_dir());
    assert_eq!((directory.uid(), directory.mode() & 0o777), (0, 0o700));
}

/// A gateway and its watchdog that are both killed leave a lock and a socket, which the next
/// gateway takes; one that is stopped leaves neither.
fn killed_gateways_files() {
    if !gateways_wanted() {
        return;
    }
    let mut testbed = build(Plan::default());
    testbed.start_gateway(Place::Near).expect("gateway");
    assert_eq!(files(&testbed.g1).len(), 3, "{:?}", files(&testbed.g1));
    let mut gateway = testbed.take_gateway(Place::Near).expect("gateway");
    let watchdog = watchdog_of(&gateway);
    nix::sys::signal::kill(watchdog, Signal::SIGKILL).expect("kill");
    gateway.kill();
    assert!(!files(&testbed.g1).is_empty(), "else this shows nothing");
    testbed.start_gateway(Place::Near).expect("gateway");
    assert_eq!(ask(&testbed.g1, "status")["totals"]["split"], 0);
    let mut gateway = testbed.take_gateway(Place::Near).expect("gateway");
    assert!(gateway.stop().is_some_and(|status| status.success()));
    assert_eq!(files(&testbed.g1), Vec::<String>::new());
}

/// What there is in the directory of a namespace.
fn files(namespace: &Namespace) -> Vec<String> {
    let number = namespace.run(|| fs::metadata("/proc/thread-self/ns/net").expect("ns").ino());
    let number = format!("{}-", number.expect("a number"));
    let files = fs::read_dir(DIRECTORY).expect("a directory");
    files
        .filter_map(|file| file.ok()?.file_name().into_string().ok())
        .filter(|name| name.starts_with(&number))
        .collect()
}
