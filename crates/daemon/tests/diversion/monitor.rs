//! The monitor, when others change interfaces and the programs on them.

use crate::network::{Network, within};
use crate::wire::at_g2;
use bentpipe_daemon::bump::device_events::{DeviceEvent, DeviceEvents};
use bentpipe_daemon::bump::{self, BumpError, DiversionState, Monitor};
use bentpipe_linux::bpf::{Attachment, BpfError};
use bentpipe_linux::surroundings::{Finding, Presence, Side, Surroundings};
use std::sync::mpsc::{self, Sender};
use std::thread::JoinHandle;

fn surroundings(lan: &str, satellite: &str) -> Surroundings {
    let side =
        |interface: &str, tun: &str| Side { interfaces: vec![interface.into()], tun: tun.into() };
    Surroundings::of([side(lan, "bp-near"), side(satellite, "bp-far")])
}

/// A monitor of what is taken at interface g2 of m.
struct Watched {
    state: DiversionState,
    events: DeviceEvents,
    stop: Sender<()>,
    thread: JoinHandle<()>,
}

impl Watched {
    /// None where the kernel does not allow it.
    fn start(network: &Network, attachment: Attachment) -> Option<Watched> {
        let state = DiversionState::default();
        let ((stop, stopped), (told, events)) = (mpsc::channel(), mpsc::channel());
        let of_monitor = state.clone();
        let thread = network.on("m", move || {
            let (wire, _table, _tuns) = match bump::set_up(&at_g2(attachment)) {
                Err(error @ BumpError::Bpf(BpfError::Permission)) => {
                    eprintln!("skipped: {error}");
                    return;
                }
                set_up => set_up.unwrap(),
            };
            let started = Monitor::start(wire, surroundings("g1", "g2"), of_monitor).unwrap();
            let (_monitor, events) = started;
            told.send(events).unwrap();
            // An error: nobody says anything, but ends.
            let _ = stopped.recv();
        });
        let Ok(events) = events.recv() else {
            thread.join().unwrap();
            return None;
        };
        Some(Watched { state, events, stop, thread })
    }

    /// Waits until the loop is told what `is_it` says.
    fn await_event(&self, what: &str, is_it: impl Fn(&DeviceEvent) -> bool) {
        within(what, || {
            let mut events = std::iter::from_fn(|| self.events.next());
            (!events.any(|event| is_it(&event))).then(|| "not told".to_owned())
        });
    }

    /// Waits until nothing is taken, or something is again.
    fn await_sleep(&self, asleep: bool) {
        within("sleep", || {
            (self.state.is_asleep() != asleep).then(|| format!("{:?}", self.state.findings()))
        });
    }

    fn findings(&self) -> Vec<&'static str> {
        self.state.findings().iter().map(Finding::name).collect()
    }

    fn stop(self) {
        drop(self.stop);
        self.thread.join().unwrap();
    }
}

#[test]
fn programs_that_cannot_be_put_back_are_a_finding_until_they_can() {
    let Some(network) = Network::new("lost") else { return };
    let Some(watched) = Watched::start(&network, Attachment::Clsact) else { return };
    // The monitor may come in between.
    let instead =
        "until tc qdisc delete dev g2 clsact; tc qdisc add dev g2 ingress; do sleep 0.1; done";
    network.run("m", instead);
    watched.await_event("missed", |event| matches!(event, DeviceEvent::PacketsMissed));
    watched.await_event("asleep", |event| matches!(event, DeviceEvent::FallingAsleep));
    watched.await_sleep(true);
    assert!(watched.findings().contains(&"not-taken"), "{:?}", watched.findings());
    network.run("m", "tc qdisc delete dev g2 ingress");
    watched.await_sleep(false);
    assert!(!watched.findings().contains(&"not-taken"), "{:?}", watched.findings());
    let filters = network.run("m", "tc filter show dev g2 egress");
    assert_eq!(filters.matches("handle").count(), 1, "{filters}");
    watched.stop();
}

/// By `clsact` what is put back has the number of what was lost.
#[test]
fn programs_of_our_own_devices_are_put_back_for_good() {
    let Some(network) = Network::new("give") else { return };
    let Some(watched) = Watched::start(&network, Attachment::Clsact) else { return };
    network.run("m", "tc filter delete dev bp-near ingress");
    watched.await_event("missed", |event| matches!(event, DeviceEvent::PacketsMissed));
    let filters = network.run("m", "tc filter show dev bp-near ingress");
    assert_eq!(filters.matches("handle").count(), 1, "{filters}");
    watched.stop();
}

#[test]
fn the_loop_is_told_what_interfaces_carry_when_that_changes() {
    let Some(network) = Network::new("mtu") else { return };
    let Some(watched) = Watched::start(&network, Attachment::of_this_kernel()) else { return };
    let is =
        |mtus| move |event: &DeviceEvent| matches!(event, DeviceEvent::Mtus(it) if *it == mtus);
    watched.await_event("first", is([1500, 1500]));
    network.run("m", "ip link set g2 mtu 1492");
    watched.await_event("shorter", is([1500, 1492]));
    watched.stop();
}

#[test]
fn an_interface_is_known_by_its_other_names() {
    let Some(network) = Network::new("alt") else { return };
    network.run("m", "ip link property add dev g2 altname uplink");
    let found = network.on("m", || surroundings("g1", "uplink").presences()).join().unwrap();
    assert_eq!(found, [("g1".to_owned(), Presence::Up), ("uplink".to_owned(), Presence::Up)]);
}
