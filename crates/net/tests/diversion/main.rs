//! The diversion and the emulator on real packets: h1 – m – h2, three network namespaces.
//!
//! They need root that may make namespaces, `ip`, `nft` and `ping`; without it they say so and pass.

mod beside;
mod network;
mod wire;

use bentpipe_core::link::LinkConfig;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_net::divert::{Divert, DivertConfig, checks::Finding};
use bentpipe_net::emulator::{Emulator, Exit};
use bentpipe_net::signals::Signals;
use network::{Network, Reflector, sides};
use std::os::unix::net::UnixStream;
use std::sync::mpsc;

const H2: [&str; 2] = ["10.77.2.2", "fd77:2::2"];

#[test]
fn tcp_crosses_the_devices_in_super_segments_with_strict_reverse_path_filters() {
    let Some(network) = Network::new("tso") else { return };
    network.run(
        "m",
        "for c in all default g1 g2; do sysctl -qw net.ipv4.conf.$c.rp_filter=1; done;
         sysctl -qw net.ipv4.conf.all.src_valid_mark=1",
    );
    let reflector = Reflector::start(&network);
    assert_eq!(reflector.findings, []);
    for address in H2 {
        for length in [1, 1448, 65_537, 20_000_000] {
            network.transfer(address, length);
        }
    }
    // Other traffic does not come to us, and passes.
    H2.into_iter().for_each(|address| network.meet_neighbours(address));
    assert!(reflector.stop() > 100);
    network.assert_clean();
    network.transfer(H2[0], 100_000);
}

#[test]
fn a_stateful_firewall_is_explained_and_its_remedy_works_with_nat() {
    let Some(network) = Network::new("fw") else { return };
    network.run(
        "m",
        "nft 'add table inet fw
              add chain inet fw f { type filter hook forward priority 0; policy drop; }
              add rule inet fw f ct state invalid drop
              add rule inet fw f ct state established,related accept
              add rule inet fw f iifname g1 oifname g2 accept
              add table inet nat
              add chain inet nat p { type nat hook postrouting priority 100; }
              add rule inet nat p oifname g2 masquerade'",
    );
    // Behind the masquerade h2 need not know the way back.
    network.run("h2", "ip route del default; ip -6 route del default");
    let reflector = Reflector::start(&network);
    let [Finding::Firewall { remedy, .. }] = &reflector.findings[..] else {
        panic!("{:?}", reflector.findings);
    };
    for command in remedy {
        // Added behind the others, so that `ct state invalid drop` sees all that we write.
        network.run("m", &command.replace("insert", "add"));
    }
    for address in H2 {
        network.transfer(address, 5_000_000);
    }
    reflector.stop();
    let reflector = Reflector::start(&network);
    assert_eq!(reflector.findings, []);
    reflector.stop();
    network.assert_clean();
}

#[test]
fn the_emulated_link_has_its_delay_and_leaves_nothing() {
    let Some(network) = Network::new("link") else { return };
    // Before anything is measured.
    H2.into_iter().for_each(|address| network.meet_neighbours(address));
    let (stop, stopped) = UnixStream::pair().unwrap();
    let (ready, wait) = mpsc::channel();
    let emulator = network.on("m", move || {
        let config = LinkConfig {
            rate: Some(Rate::from_bits_per_sec(8_000_000).into()),
            delay: Duration::from_millis(250).into(),
            ..LinkConfig::IDEAL
        };
        let signals = Signals::catch().unwrap();
        let (_divert, tuns) = Divert::set_up(DivertConfig::link(sides())).unwrap();
        let mut emulator =
            Emulator::new(tuns, Exit::Same, [(config.clone(), None), (config, None)]);
        ready.send(()).unwrap();
        emulator.run(&signals, Some(&stopped)).unwrap();
        emulator.summary()
    });
    wait.recv().unwrap();
    for address in H2 {
        let text = network.run("h1", &format!("ping -c4 -i0.2 -w120 {address}"));
        let times: Vec<f64> = text
            .lines()
            .filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse().ok())
            .collect();
        assert!(times.len() >= 4, "{text}");
        // No busy machine makes it less; ping's clock is slewed by less than this. That it is not more either is
        // `way::tests`', in virtual time.
        let longest = times.into_iter().fold(0.0, f64::max);
        assert!(longest >= 499.0, "{text}");
        // One host is one hop, though the packet is forwarded twice.
        assert!(text.contains("ttl=63"), "{text}");
    }
    drop(stop);
    let summary = emulator.join().unwrap();
    assert!(summary.directions[0].delivered.packets >= 8, "{summary:?}");
    assert_eq!(summary.refused, [0, 0]);
    network.assert_clean();
}
