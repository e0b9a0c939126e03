//! A connection on its three hops between real hosts: C1 from the client to its gateway, C2 over the satellite, C3 from the
//! other gateway to the server.

use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use bentpipe_net::testbed::{Testbed, TestbedConfig, Told};

use crate::captured::{Captures, Segment, Stream};
use crate::stage::{Ends, FAMILIES, build, gateways_wanted, geo_link, start_gateways};
use crate::toolbox::{accept, assert_same, content, finish, receive, receive_to_end, send};

pub(crate) const CASES: &[(&str, fn())] = &[
    ("hops_have_their_own_options_and_acknowledgments", own_options),
    ("blocked_satellite_closes_the_near_window_from_the_left", blocked),
    ("lost_syn_is_retransmitted_by_its_host_alone", lost_syn),
];

/// One way over the satellite.
const SATELLITE: Duration = Duration::from_millis(250);
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
fn connected(ends: &Ends) -> ([TcpStream; 2], [SocketAddr; 2]) {
    let (listener, address) = ends.listen();
    let (client, server) = (ends.connect(address), accept(&listener));
    let own = client.local_addr().expect("address");
    ([client, server], [own, address])
}

/// So many bytes behind the SYN.
fn behind(isn: u32, number: u32) -> usize {
    number.wrapping_sub(isn).wrapping_sub(1) as usize
}

/// The first acknowledgment of anything that was sent `from` here, of segments seen at one place.
fn first_acknowledgment(seen: &[Segment], [from, to]: [SocketAddr; 2], isn: u32) -> &Segment {
    let acknowledges = |it: &&Segment| {
        it.ends == (to, from) && !it.syn && (1..1 << 30).contains(&behind(isn, it.ack))
    };
    seen.iter().find(acknowledges).expect("an acknowledgment")
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
        let ends = Ends::of(&testbed, family);
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
        acknowledged_nearby(&hops[0], [near, far]);
    }
}

/// G01-D-20: what G1 sends over the satellite before it hears of G2.
fn initial_window(satellite: &[Segment], ends: [SocketAddr; 2]) {
    let isn = Stream::seen(satellite, ends[0], ends[1]).isn.expect("a SYN");
    let heard = first_acknowledgment(satellite, ends, isn).at;
    let sent = satellite.iter().filter(|it| it.ends == (ends[0], ends[1]) && it.at < heard);
    let data = sent.filter(|it| !it.payload.is_empty());
    let sent = data.map(|it| behind(isn, it.seq) + it.payload.len()).max().unwrap_or_default();
    // Where a window of the host's own ends a segment may be short, and the last one does not fit.
    let segments = INITIAL_WINDOW - 2..=INITIAL_WINDOW;
    assert!(segments.contains(&sent.div_ceil(1448)), "{sent} bytes");
}

/// G01-D-5 and G01-D-9: the SYN is answered by the other host, over the satellite. G01-D-2 and G01-D-8: data is acknowledged in
/// its name, and from nearby.
fn acknowledged_nearby(seen: &[Segment], ends: [SocketAddr; 2]) {
    let first = |wanted: &dyn Fn(&Segment) -> bool| {
        seen.iter().find(|it| wanted(it)).expect("a segment").clone()
    };
    let there = (ends[0], ends[1]);
    let syn = first(&|it| it.ends == there && it.syn);
    let syn_ack = first(&|it| it.ends == (ends[1], ends[0]) && it.syn);
    assert!(syn_ack.at - syn.at >= 2 * SATELLITE, "{:?}", syn_ack.at - syn.at);
    let data = first(&|it| it.ends == there && !it.payload.is_empty());
    let took = first_acknowledgment(seen, ends, syn.seq).at - data.at;
    assert!(took < 2 * SATELLITE, "{took:?}");
}

/// G01-D-11: while the satellite carries nothing the near host's window falls to nothing, and its right edge never moves left.
fn blocked() {
    if !gateways_wanted() {
        return;
    }
    const SIZE: usize = 4_000_000;
    let testbed = stage();
    let block = "table netdev blocked {\n\
                 chain up { type filter hook ingress device ground1 priority 0; drop; }\n\
                 chain down { type filter hook ingress device ground2 priority 0; drop; }\n}\n";
    for family in FAMILIES {
        let ends = Ends::of(&testbed, family);
        let captures = Captures::start([&testbed.h1]);
        let ([client, server], [near, far]) = connected(&ends);
        let sent = content(53, SIZE);
        let open_again = thread::scope(|scope| {
            scope.spawn(|| send(&client, &sent));
            let begun = receive(&server, 1_000_000);
            testbed.sat.nft(block).expect("nft");
            thread::sleep(Duration::from_secs(6));
            testbed.sat.nft("delete table netdev blocked\n").expect("nft");
            let open_again = Instant::now();
            let rest = receive(&server, SIZE - begun.len());
            assert_same("an upload", &sent, &[begun, rest].concat());
            open_again
        });
        let [seen] = captures.stop();
        let isn = Stream::seen(&seen, near, far).isn.expect("a SYN");
        let mut shift = 0;
        let (mut right_edge, mut min_window) = (0, usize::MAX);
        for it in seen.iter().filter(|it| it.ends == (far, near)) {
            if it.syn {
                shift = it.options.window_scale.unwrap_or(0);
                continue;
            }
            let window = usize::from(it.window) << shift;
            let now = behind(isn, it.ack) + window;
            // What a window's field cannot express may round it up, by less than its unit.
            assert!(now + (1 << shift) > right_edge, "from {right_edge} back to {now}");
            right_edge = right_edge.max(now);
            if it.at < open_again {
                min_window = min_window.min(window);
            }
        }
        assert!(min_window < 2 * 1460, "the window was {min_window} at least");
    }
}

/// G01-D-16: a SYN that was lost behind the gateways is retransmitted by the host, and by nobody else.
fn lost_syn() {
    if !gateways_wanted() {
        return;
    }
    let testbed = stage();
    for family in FAMILIES {
        let ends = Ends::of(&testbed, family);
        let captures = Captures::start([&testbed.h1, &testbed.h2]);
        let (listener, address) = ends.listen();
        let lose = "table inet lost { chain input { type filter hook input priority 0;\n\
                    tcp flags & (syn | ack) == syn drop\n}\n}\n";
        testbed.h2.nft(lose).expect("nft");
        thread::scope(|scope| {
            let client = scope.spawn(|| ends.connect(address));
            thread::sleep(Duration::from_millis(2_500));
            testbed.h2.nft("delete table inet lost\n").expect("nft");
            drop(accept(&listener));
            drop(client.join().expect("it is connected"));
        });
        let [sent, arrived] = captures
            .stop()
            .map(|seen| seen.iter().filter(|it| it.syn && it.ends.1 == address).count());
        assert!(sent >= 2 && sent == arrived, "{sent} were sent, and {arrived} arrived");
    }
}
