//! A connection on its three hops between real hosts: C1 from the client to its gateway, C2 over
//! the satellite, C3 from the other gateway to the server.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;

use bentpipe_testbed::five_hosts::{Testbed, TestbedConfig, Told};

use crate::captured::{Captures, Segment, Stream};
use crate::stage::{FAMILIES, StageEnds, build, gateways_wanted, geo_link, start_gateways};
use crate::toolbox::{
    accept, assert_same, content, finish, receive, receive_to_end, send, wait_until,
};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("hops_have_their_own_options_and_acknowledgments", own_options),
    ("blocked_satellite_closes_the_near_window_from_the_left", blocked),
    ("lost_syn_is_retransmitted_by_its_host_alone", lost_syn),
];

/// Of the satellite's legs, in segments of 1448 bytes.
const INITIAL_WINDOW: usize = 16;

fn stage() -> Arc<Testbed> {
    let mut testbed = build(TestbedConfig {
        link: Some(geo_link()),
        told: Told::Nothing,
        satellite: "add-options = \"always\"\ntcp = \"gateway-satellite,recovery=fack,iw=16\"\n",
        ..TestbedConfig::default()
    });
    start_gateways(&mut testbed);
    Arc::new(testbed)
}

/// A connection's ends, and their addresses.
fn connected(ends: &StageEnds) -> ([TcpStream; 2], [SocketAddr; 2]) {
    let (listener, address) = ends.listen();
    let (client, server) = (ends.connect(address), accept(&listener));
    let own = client.local_addr().expect("address");
    ([client, server], [own, address])
}

/// So many bytes behind the SYN.
fn behind(isn: u32, number: u32) -> usize {
    number.wrapping_sub(isn).wrapping_sub(1) as usize
}

/// Which is the first acknowledgment of anything that was sent `from` here, of segments seen at one
/// place.
fn first_acknowledgment(seen: &[Segment], [from, to]: [SocketAddr; 2], isn: u32) -> usize {
    let acknowledges = |it: &Segment| {
        it.ends == (to, from) && !it.syn && (1..1 << 30).contains(&behind(isn, it.ack))
    };
    seen.iter().position(acknowledges).expect("an acknowledgment")
}

/// G99-D-2, G99-D-6, G01-D-2, G01-D-6 to G01-D-9, G01-D-20 and H-D-16.
fn own_options() {
    if !gateways_wanted() {
        return;
    }
    let testbed = stage();
    for host in [&testbed.h1, &testbed.h2] {
        for option in ["sack", "timestamps", "window_scaling"] {
            host.sysctl(&format!("net.ipv4.tcp_{option}"), "0").expect("sysctl");
        }
    }
    for family in FAMILIES {
        let ends = StageEnds::of(&testbed, family);
        let captures = Captures::start([&testbed.h1, &testbed.sat, &testbed.h2]);
        let ([client, server], [near, far]) = connected(&ends);
        let (up, down) = (content(51, 200_000), content(52, 100_000));
        thread::scope(|scope| {
            scope.spawn(|| {
                assert_same("up", &up, &receive_to_end(&server));
                send(&server, &down);
                finish(&server);
            });
            send(&client, &up);
            finish(&client);
            assert_same("down", &down, &receive_to_end(&client));
        });
        drop((client, server));
        let hops = captures.stop();
        for (from, to, sent) in [(near, far, &up), (far, near, &down)] {
            let streams = hops.each_ref().map(|seen| Stream::seen(seen, from, to));
            for (number, (seen, stream)) in hops.iter().zip(&streams).enumerate() {
                let hop = format!("C{} from {from}", number + 1);
                assert_same(&hop, sent, &stream.bytes());
                // G01-D-5: the SYN-ACK is the far host's. Nobody else knows its number.
                assert_eq!((stream.isn, stream.fin), (streams[0].isn, streams[0].fin), "{hop}");
                // What hosts do not offer is there on the satellite's connection alone.
                let on_satellite = number == 1;
                for it in seen.iter().filter(|it| it.ends == (from, to)) {
                    let has = it.options;
                    if it.syn {
                        let offered = [has.window_scale.is_some(), has.sack_permitted, has.other];
                        assert_eq!(offered, [on_satellite; 3], "{hop}: {it:?}");
                    }
                    if it.syn || !it.payload.is_empty() {
                        assert_eq!(has.timestamps, on_satellite, "{hop}: {it:?}");
                    }
                }
            }
        }
        initial_window(&hops[1], [near, far]);
    }
}

/// G01-D-20: what G1 sends over the satellite before it hears of G2 is the initial window at most.
/// (That it is all of it needs a client that is not held up:
/// `the_satellite_legs_initial_window_is_its_own`, in virtual time.)
fn initial_window(satellite: &[Segment], ends: [SocketAddr; 2]) {
    let isn = Stream::seen(satellite, ends[0], ends[1]).isn.expect("a SYN");
    let heard = first_acknowledgment(satellite, ends, isn);
    let sent = satellite[..heard].iter().filter(|it| it.ends == (ends[0], ends[1]));
    let data = sent.filter(|it| !it.payload.is_empty());
    let sent = data.map(|it| behind(isn, it.seq) + it.payload.len()).max().unwrap_or_default();
    assert!((1..=INITIAL_WINDOW).contains(&sent.div_ceil(1448)), "{sent} bytes");
}

/// G01-D-2, G01-D-8, G01-D-9 and G01-D-11: while the satellite carries nothing, what the near host
/// sends is acknowledged from nearby, until its window has fallen to nothing; the window's right
/// edge never moves left.
fn blocked() {
    if !gateways_wanted() {
        return;
    }
    // More than has arrived by then and what a stream may hold where no link is known, 4 MiB.
    const SIZE: usize = 8_000_000;
    let testbed = stage();
    let block = "table netdev blocked {\n\
                 chain up { type filter hook ingress device ground1 priority 0; drop; }\n\
                 chain down { type filter hook ingress device ground2 priority 0; drop; }\n}\n";
    for family in FAMILIES {
        let ends = StageEnds::of(&testbed, family);
        let captures = Captures::start([&testbed.h1, &testbed.h2]);
        let ([client, server], [near, far]) = connected(&ends);
        let sent = content(53, SIZE);
        thread::scope(|scope| {
            scope.spawn(|| send(&client, &sent));
            let begun = receive(&server, 1_000_000);
            testbed.sat.nft(block).expect("nft");
            wait_until("the near window is closed", || {
                let [at_near, at_far] = captures.so_far();
                let told = acknowledgments(&at_near, [near, far]);
                let last = *told.last().ok_or("no acknowledgment")?;
                let arrived = Stream::seen(&at_far, near, far).bytes().len();
                match last.window < 2 * 1460 && last.acknowledged > arrived {
                    true => Ok(()),
                    false => Err(format!("{last:?}, {arrived} bytes have arrived")),
                }
            });
            testbed.sat.nft("delete table netdev blocked\n").expect("nft");
            let rest = receive(&server, SIZE - begun.len());
            assert_same("an upload", &sent, &[begun, rest].concat());
        });
        let [seen, _] = captures.stop();
        let mut right_edge = 0;
        for Acknowledgment { acknowledged, window, unit } in acknowledgments(&seen, [near, far]) {
            let now = acknowledged + window;
            // What a window's field cannot express may round it up, by less than its unit.
            assert!(now + unit > right_edge, "from {right_edge} back to {now}");
            right_edge = right_edge.max(now);
        }
    }
}

/// What a host is told in an acknowledgment, in bytes.
#[derive(Debug, Clone, Copy)]
struct Acknowledgment {
    acknowledged: usize,
    window: usize,
    /// What windows are multiples of.
    unit: usize,
}

/// What the near host has been told of its own data, by the segments seen there.
fn acknowledgments(seen: &[Segment], [near, far]: [SocketAddr; 2]) -> Vec<Acknowledgment> {
    let Some(isn) = Stream::seen(seen, near, far).isn else { return Vec::new() };
    let from_there = || seen.iter().filter(|it| it.ends == (far, near));
    let scale = from_there().find(|it| it.syn).and_then(|it| it.options.window_scale);
    let unit = 1 << scale.unwrap_or(0);
    let behind_syn = from_there().filter(|it| !it.syn);
    let all = behind_syn.map(|it| Acknowledgment {
        acknowledged: behind(isn, it.ack),
        window: usize::from(it.window) * unit,
        unit,
    });
    all.collect()
}

/// G01-D-16: a SYN that was lost behind the gateways is retransmitted by the host, and by nobody
/// else.
fn lost_syn() {
    if !gateways_wanted() {
        return;
    }
    let testbed = stage();
    for family in FAMILIES {
        let ends = StageEnds::of(&testbed, family);
        let captures = Captures::start([&testbed.h1, &testbed.h2]);
        let (listener, address) = ends.listen();
        let lose = "table inet lost { chain input { type filter hook input priority 0;\n\
                    tcp flags & (syn | ack) == syn drop\n}\n}\n";
        testbed.h2.nft(lose).expect("nft");
        thread::scope(|scope| {
            let client = scope.spawn(|| ends.connect(address));
            wait_until("a SYN is retransmitted", || {
                let [_, arrived] = captures.so_far().map(|seen| syns(&seen, address));
                if arrived >= 2 { Ok(()) } else { Err(format!("{arrived} SYNs have arrived")) }
            });
            testbed.h2.nft("delete table inet lost\n").expect("nft");
            drop(accept(&listener));
            drop(client.join().expect("it is connected"));
        });
        // One that the host has retransmitted needlessly may still be on its way.
        wait_until("as many SYNs have arrived as were sent", || {
            let [sent, arrived] = captures.so_far().map(|seen| syns(&seen, address));
            match sent >= 2 && sent == arrived {
                true => Ok(()),
                false => Err(format!("{sent} were sent, and {arrived} arrived")),
            }
        });
        captures.stop();
    }
}

/// How many SYNs to this address were seen.
fn syns(seen: &[Segment], address: SocketAddr) -> usize {
    seen.iter().filter(|it| it.syn && it.ends.1 == address).count()
}
