//! An emulated link between two interfaces of a host that forwards.

use crate::network::Network;
use crate::router::{failures, router};
use crate::wire::attachments;
use bentpipe_core::link::LinkConfig;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_emulator::between::{Attachment, Between, BetweenError};
use bentpipe_emulator::emulator::{Emulator, Exit};
use bentpipe_emulator::summary::LinkSummary;
use bentpipe_emulator::too_long::LengthLimit;
use bentpipe_linux::bpf::BpfError;
use bentpipe_linux::signals::Signals;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::thread::JoinHandle;

const H2: [&str; 2] = ["10.77.2.2", "fd77:2::2"];

/// A link between g1 and g2 of m, for as long as it lives.
struct Link {
    thread: JoinHandle<Option<LinkSummary>>,
    stop: UnixStream,
}

impl Link {
    /// None where the kernel does not allow it.
    fn start(
        network: &Network,
        attachment: Attachment,
        config: LinkConfig,
        mtu: Option<u32>,
    ) -> Option<Link> {
        let (stop, stopped) = UnixStream::pair().unwrap();
        let (ready, wait) = mpsc::channel();
        let thread = network.on("m", move || {
            let signals = Signals::catch().unwrap();
            let ends = ["g1", "g2"].map(str::to_owned);
            let (_between, tuns) = match Between::set_up(&ends, attachment) {
                Err(error @ BetweenError::Bpf(BpfError::Permission)) => {
                    eprintln!("skipped: {error}");
                    return None;
                }
                set_up => set_up.unwrap(),
            };
            let mut emulator = Emulator::new(tuns, Exit::Same, config);
            if let Some(mtu) = mtu {
                emulator.limit_length(LengthLimit::between(&ends, mtu).unwrap());
            }
            ready.send(()).unwrap();
            emulator.run(&signals, Some(&stopped)).unwrap();
            Some(emulator.summary())
        });
        match wait.recv() {
            Ok(()) => Some(Link { thread, stop }),
            Err(_) => {
                assert!(thread.join().unwrap().is_none());
                None
            }
        }
    }

    /// Ends it: what has crossed it.
    fn stop(self) -> LinkSummary {
        drop(self.stop);
        self.thread.join().unwrap().expect("it ran")
    }
}

#[test]
fn a_router_with_a_link_within_does_what_it_does_without() {
    let Some(network) = Network::new("lnkrt") else { return };
    router(&network);
    for attachment in attachments() {
        let Some(link) = Link::start(&network, attachment, LinkConfig::IDEAL, None) else { return };
        assert_eq!(failures(&network), Vec::<String>::new(), "by {attachment:?}");
        let invalid = network.run("m", "nft list chain inet fw through");
        assert!(invalid.contains("invalid counter packets 0 "), "{invalid}");
        let summary = link.stop();
        for direction in summary.directions {
            assert!(direction.delivered.packets > 100, "{summary:?}");
        }
        assert_eq!(summary.refused, [0, 0]);
        network.await_end_of_devices();
        assert_eq!(network.run("m", "tc qdisc show | grep clsact || true"), "");
    }
    assert_eq!(failures(&network), Vec::<String>::new(), "behind us");
}

#[test]
fn the_emulated_link_has_its_delay_and_leaves_nothing() {
    let Some(network) = Network::new("link") else { return };
    network
        .run("m", "for c in all default g1 g2; do sysctl -qw net.ipv4.conf.$c.rp_filter=1; done");
    // Before anything is measured.
    H2.into_iter().for_each(|address| network.meet_neighbours(address));
    let config = LinkConfig {
        rate: Some(Rate::from_bits_per_sec(8_000_000).into()),
        delay: Duration::from_millis(250).into(),
        ..LinkConfig::IDEAL
    };
    let kind = Attachment::of_this_kernel();
    let Some(link) = Link::start(&network, kind, config, None) else { return };
    for address in H2 {
        let text = network.run("h1", &format!("ping -c4 -i0.2 -w120 {address}"));
        let times: Vec<f64> = text
            .lines()
            .filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok())
            .collect();
        assert!(times.len() >= 4, "{text}");
        // No busy machine makes it less; ping's clock is slewed by less than this. That it is not
        // more either is `way::tests`', in virtual time.
        let longest = times.into_iter().fold(0.0, f64::max);
        assert!(longest >= 499.0, "{text}");
        assert!(text.contains("ttl=63"), "one host is one hop: {text}");
    }
    let summary = link.stop();
    assert!(summary.directions[0].delivered.packets >= 8, "{summary:?}");
    assert_eq!(summary.refused, [0, 0]);
    network.await_end_of_devices();
}

/// What is longer than the link's MTU is cut if that is allowed, and its sender is told if it is
/// not; TCP comes through either way.
#[test]
fn a_link_s_mtu_is_kept_and_told() {
    let Some(network) = Network::new("lnkmtu") else { return };
    H2.into_iter().for_each(|address| network.meet_neighbours(address));
    let kind = Attachment::of_this_kernel();
    let Some(link) = Link::start(&network, kind, LinkConfig::IDEAL, Some(1300)) else { return };
    network.run("h1", "ping -c2 -w60 -M dont -s 1400 10.77.2.2");
    for (address, mtu) in H2.into_iter().zip(["mtu = 1300", "mtu=1300"]) {
        let long = format!("ping -c3 -i0.2 -w10 -M do -s 1400 {address} 2>&1 || true");
        let said = network.run("h1", &long);
        assert!(said.contains(mtu) || said.replace(' ', "").contains("mtu=1300"), "{said}");
        network.run("h1", "ip route flush cache; ip -6 route flush cache");
        network.transfer(address, 1_000_000);
    }
    let summary = link.stop();
    assert!(summary.directions[0].delivered.packets > 1000, "{summary:?}");
}

/// Others delete interfaces and make them again.
#[test]
fn an_interface_that_is_made_again_is_one_of_the_link() {
    let Some(network) = Network::new("lnkagain") else { return };
    let config = LinkConfig { delay: Duration::from_millis(200).into(), ..LinkConfig::IDEAL };
    let kind = Attachment::of_this_kernel();
    let Some(link) = Link::start(&network, kind, config, None) else { return };
    let h2 = network.name("h2");
    network.run(
        "m",
        &format!(
            "ip link del g2; ip link add g2 type veth peer name e netns {h2};
             ip addr add 10.77.2.1/24 dev g2; ip link set g2 up;
             ip -n {h2} addr add 10.77.2.2/24 dev e; ip -n {h2} link set e up;
             ip -n {h2} route add default via 10.77.2.1"
        ),
    );
    crate::network::within("it crosses the link", || {
        let text = network.run("h1", "ping -c1 -W10 10.77.2.2 || true");
        let time = text.split("time=").nth(1).and_then(|it| it.split(' ').next()?.parse().ok());
        time.is_none_or(|time: f64| time < 399.0).then_some(text)
    });
    // Nor is our own device safe from them.
    network.run("m", "ip link set bp-link0 down");
    crate::network::within("its device is up again", || {
        let text = network.run("h1", "ping -c1 -W10 10.77.2.2 || true");
        (!text.contains("time=")).then_some(text)
    });
    link.stop();
}

/// Its ends may be ports of a bridge, whose other frames pass.
#[test]
fn ports_of_a_bridge_are_ends() {
    let Some(network) = Network::new("lnkbr") else { return };
    network.run(
        "m",
        "ip link add br0 type bridge; ip link set br0 up; ip link set g1 master br0; ip link set g2 master br0",
    );
    for (host, number) in [("h1", 1), ("h2", 2)] {
        network.run(host, &format!("ip addr add 10.99.0.{number}/24 dev e"));
    }
    // A bridge takes no forwarding.
    network.run("m", "sysctl -qw net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0");
    let config = LinkConfig { delay: Duration::from_millis(200).into(), ..LinkConfig::IDEAL };
    let kind = Attachment::of_this_kernel();
    let Some(link) = Link::start(&network, kind, config, None) else { return };
    network.meet_neighbours("10.99.0.2");
    let text = network.run("h1", "ping -c3 -i0.2 -w120 10.99.0.2");
    let time = text.split("time=").nth(1).and_then(|it| it.split(' ').next()?.parse().ok());
    assert!(time.is_some_and(|time: f64| time >= 399.0), "{text}");
    network.transfer("10.99.0.2", 300_000);
    assert!(link.stop().directions[1].delivered.packets > 100);
}
