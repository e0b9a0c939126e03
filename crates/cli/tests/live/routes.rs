//! A third path: a cable from host to host that passes the satellite and both gateways by, which
//! one direction takes, or both, from the beginning or from some moment on.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::join_by_veth;
use bentpipe_testbed::five_hosts::{BOTH, SatelliteLink, Testbed, TestbedConfig};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::life::exchange;
use crate::observation::{ask, await_nothing_held};
use crate::pair::{open_for, pairs, pairs_for, part, talk, transfer};
use crate::stage::{
    FAMILIES, StageEnds, build, fast_link, gateways_wanted, narrow_link, start_gateways,
};
use crate::toolbox::{
    End, PATIENCE, accept, assert_same, content, receive, send, wait_longer, wait_until,
};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("syn_acks_take_another_way", syn_acks_take_another_way),
    ("route_changes_behind_a_syn", route_changes_behind_a_syn),
    ("route_changes_while_nothing_is_held", route_changes_before_data),
    ("route_changes_in_mid_transfer", route_changes_amid_data),
    ("acknowledgments_take_another_path", acknowledgments_take_another_path),
];

/// A SYN without SYN-ACK is forgotten after this.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(70);
/// How long readers wait where some wait in vain …
const READER: Duration = Duration::from_secs(12);
/// … and hosts' kernels try.
const KERNEL: Duration = Duration::from_secs(8);
/// What a connection transfers when its route changes: 0.8 s of the link, were it alone.
const SIZE: usize = 10_000_000;

/// Which directions take the third path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Detour {
    ToH1,
    ToH2,
    Both,
}

const DETOURS: [Detour; 3] = [Detour::ToH1, Detour::ToH2, Detour::Both];

/// G01-D-15: what the server says never comes through the gateways. The connection works, unsplit,
/// and the gateways forget its SYN.
fn syn_acks_take_another_way() {
    let mut testbed = with_third_path();
    take(&testbed, Detour::ToH1);
    let exchanges = |testbed: &Arc<Testbed>| {
        FAMILIES
            .into_iter()
            .for_each(|family| exchange(&StageEnds::of(testbed, family), 3_000_000));
    };
    exchanges(&testbed);
    if !gateways_wanted() {
        return;
    }
    start_gateways(Arc::get_mut(&mut testbed).expect("the only holder"));
    exchanges(&testbed);
    let status = |place| ask(testbed.gateway_at(place).1, "status");
    for place in BOTH {
        let status = status(place);
        assert_eq!(status["flows"]["opening"], FAMILIES.len(), "{place:?}: {status}");
        let forwarded = status["totals"]["forwarded_bytes"]["one-way"].as_u64();
        assert!(forwarded > Some(6_000_000), "{place:?}: {status}");
    }
    for place in BOTH {
        wait_longer(FORGOTTEN_AFTER, "the SYNs are forgotten", || match status(place) {
            status if status["flows"]["opening"] == 0 => Ok(()),
            status => {
                thread::sleep(Duration::from_secs(1));
                Err(format!("{place:?}: {status}"))
            }
        });
        assert_eq!(status(place)["totals"]["split"], 0, "{place:?}");
    }
}

/// G01-D-15 and G01-D-19: while a SYN is on its way over the satellite, what comes behind it
/// changes its way. The connection works; the gateways have never seen all of its handshake, and do
/// not split it.
fn route_changes_behind_a_syn() {
    thread::scope(|scope| {
        for detour in DETOURS {
            scope.spawn(move || {
                let mut testbed = with_third_path_beside(slow_link());
                let owned = Arc::get_mut(&mut testbed).expect("the only holder");
                start_gateways(owned);
                let link = Pid::from_raw(owned.emulator().expect("a link").id().cast_signed());
                // What is sent waits until routes have changed.
                kill(link, Signal::SIGSTOP).expect("a signal");
                thread::scope(|scope| {
                    for family in FAMILIES {
                        let ends = StageEnds::of(&testbed, family);
                        scope.spawn(move || {
                            let pair = open_for(&ends, PATIENCE);
                            talk(&pair, 300_000);
                            talk(&pair, 300_000);
                            part(pair);
                        });
                    }
                    await_syns(&testbed);
                    take(&testbed, detour);
                    kill(link, Signal::SIGCONT).expect("a signal");
                });
                if !gateways_wanted() {
                    return;
                }
                let testbed = Arc::get_mut(&mut testbed).expect("the only holder");
                for place in BOTH {
                    let status = ask(testbed.gateway_at(place).1, "status");
                    let totals = &status["totals"];
                    assert_eq!(totals["split"], 0, "{detour:?} {place:?}: {status}");
                    // Where one direction stays, all that each family's hosts said that way.
                    let min = if detour == Detour::Both { 0 } else { 1_200_000 };
                    // A gateway that hears of a handshake that has gone on past it forgets that.
                    let forwarded: u64 = ["one-way", "not-opened", "unknown-flow"]
                        .iter()
                        .filter_map(|reason| totals["forwarded_bytes"][reason].as_u64())
                        .sum();
                    assert!(forwarded >= min, "{detour:?} {place:?}: {status}");
                    // One that is asked to end waits for the handshakes that it has seen begin.
                    testbed.take_gateway(place).expect("a gateway").kill();
                }
            });
        }
    });
}

/// Waits until the near gateway has seen a SYN of each family. The link has them.
fn await_syns(testbed: &Testbed) {
    if !gateways_wanted() {
        return thread::sleep(slow_link().delay / 2);
    }
    wait_until("both SYNs are sent", || match ask(&testbed.g1, "status")["flows"].take() {
        flows if flows["opening"] == FAMILIES.len() => Ok(()),
        flows => Err(flows.to_string()),
    });
}

/// G01-D-19: connections on which nothing is under way when routes change go on to their ends.
fn route_changes_before_data() {
    for_each_detour(|testbed, detour| {
        let idle = pairs(testbed, 3);
        idle.iter().for_each(|pair| talk(pair, 5_000));
        if gateways_wanted() {
            BOTH.into_iter().for_each(|place| await_nothing_held(testbed.gateway_at(place).1));
        }
        take(testbed, detour);
        thread::scope(|scope| {
            for pair in idle {
                scope.spawn(|| {
                    // Less than either host's first window, which is all that a gateway can
                    // send to a host that it does not hear; by the answer it learns of the change.
                    talk(&pair, 20_000);
                    talk(&pair, 300_000);
                    part(pair);
                });
            }
        });
    });
}

/// What a gateway holds when routes change may be lost (G01-W-7), but not in silence.
fn route_changes_amid_data() {
    for_each_detour(|testbed, detour| {
        thread::scope(|scope| {
            let pairs = pairs_for(testbed, 2, KERNEL).into_iter().zip(0..);
            let transfers: Vec<_> = pairs
                .map(|(pair, i)| scope.spawn(move || transfer(i, pair, SIZE, READER)))
                .collect();
            thread::sleep(Duration::from_millis(700));
            take(testbed, detour);
            let ends = transfers.into_iter().map(|thread| thread.join().expect("a transfer"));
            let ends: Vec<End> = ends.collect();
            // That none has ended in order with bytes missing, each has seen to itself.
            if !gateways_wanted() {
                assert_eq!(ends, [End::Whole; 4], "{detour:?}");
            }
        });
    });
}

/// Only what the far host says takes the third path, amid full uploads: the near host has been told
/// more than the far one has, and takes what it hears from it for old.
fn acknowledgments_take_another_path() {
    let mut testbed = with_third_path_beside(narrow_link());
    start_gateways(Arc::get_mut(&mut testbed).expect("the only holder"));
    let sent = content(27, 1_500_000);
    thread::scope(|scope| {
        for family in FAMILIES.repeat(3) {
            let ends = StageEnds::of(&testbed, family);
            let (listener, address) = ends.listen();
            let client = ends.connect(address);
            let server = accept(&listener);
            let sent = &sent;
            scope.spawn(move || send(&client, sent));
            scope.spawn(move || {
                assert_same("an upload", sent, &receive(&server, sent.len()));
            });
        }
        thread::sleep(Duration::from_millis(1200));
        take(&testbed, Detour::ToH1);
    });
}

/// Each on a testbed of its own, all at the same time, with gateways.
fn for_each_detour(case: impl Fn(&Arc<Testbed>, Detour) + Sync) {
    thread::scope(|scope| {
        for detour in DETOURS {
            let case = &case;
            scope.spawn(move || {
                let mut testbed = with_third_path();
                start_gateways(Arc::get_mut(&mut testbed).expect("the only holder"));
                case(&testbed, detour);
                // What is new is not concerned.
                FAMILIES.into_iter().for_each(|f| exchange(&StageEnds::of(&testbed, f), 100_000));
            });
        }
    });
}

/// A link on which a SYN takes its time: 100 Mbit/s, half a second each way.
fn slow_link() -> SatelliteLink {
    SatelliteLink { delay: Duration::from_millis(500), ..fast_link() }
}

fn with_third_path() -> Arc<Testbed> {
    with_third_path_beside(fast_link())
}

/// The usual five hosts, and a cable between H1 and H2 that nobody uses yet.
fn with_third_path_beside(link: SatelliteLink) -> Arc<Testbed> {
    let testbed = build(TestbedConfig { link: Some(link), ..TestbedConfig::default() });
    join_by_veth((&testbed.h1, "eth1"), (&testbed.h2, "eth1")).expect("cable");
    for (host, part) in [(&testbed.h1, 1), (&testbed.h2, 2)] {
        host.ip(&format!(
            "address add 10.91.5.{part}/24 dev eth1\n\
             address add fd00:91:0:5::{part}/64 dev eth1 nodad\n"
        ))
        .expect("addresses");
        // The stricter of `all` and the device's own counts.
        for devices in ["all", "eth0", "eth1"] {
            host.sysctl(&format!("net.ipv4.conf.{devices}.rp_filter"), "0").expect("sysctl");
        }
    }
    Arc::new(testbed)
}

/// From now on `detour` goes by the third path.
fn take(testbed: &Testbed, detour: Detour) {
    // (host, where to, over whom), each a number in the addresses.
    let to_h1 = (&testbed.h2, 1, 1);
    let to_h2 = (&testbed.h1, 4, 2);
    let routes = match detour {
        Detour::ToH1 => vec![to_h1],
        Detour::ToH2 => vec![to_h2],
        Detour::Both => vec![to_h1, to_h2],
    };
    for (host, network, neighbour) in routes {
        host.ip(&format!(
            "route add 10.91.{network}.0/24 via 10.91.5.{neighbour} congctl cubic\n\
             route add fd00:91:0:{network}::/64 via fd00:91:0:5::{neighbour} congctl cubic\n"
        ))
        .expect("routes");
    }
}
