//! A bump in the wire: connections over the satellite are taken at its device, and routing, NAT,
//! firewalls and marks of the host see nothing of it.

use crate::network::Network;
use crate::router::{failures, over_the_satellite, router};
use bentpipe_daemon::bump::{self, BumpConfig, BumpError, PATIENCE, Table};
use bentpipe_linux::bpf::{Attachment, BpfError};
use bentpipe_linux::tun::{MAX_READ, Offload};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::{Arc, mpsc};
use std::thread::JoinHandle;

const TCP: u8 = 6;

/// Gives every packet back as it came, for as long as it lives.
pub(crate) struct Reflector {
    thread: JoinHandle<u64>,
    stop: UnixStream,
    /// What it and the kernel's programs tell each other.
    pub(crate) table: Arc<Table>,
}

impl Reflector {
    /// At interface g2 of m. One that is `mute` gives no sign of life. None where the kernel does
    /// not allow it.
    fn start(network: &Network, attachment: Attachment, mute: bool) -> Option<Reflector> {
        Reflector::start_for(network, attachment, mute, None)
    }

    /// The same for connections of these interfaces alone, if some are named.
    pub(crate) fn start_for(
        network: &Network,
        attachment: Attachment,
        mute: bool,
        lan: Option<Vec<String>>,
    ) -> Option<Reflector> {
        let (stop, stopped) = UnixStream::pair().unwrap();
        let (ready, wait) = mpsc::channel();
        let thread = network.on("m", move || {
            let set_up = bump::set_up(&BumpConfig { lan, ..at_g2(attachment) });
            let (_wire, table, tuns) = match set_up {
                Err(error @ BumpError::Bpf(BpfError::Permission)) => {
                    eprintln!("skipped: {error}");
                    return 0;
                }
                set_up => set_up.unwrap(),
            };
            ready.send(Arc::clone(&table)).unwrap();
            let (mut buffer, mut crossed) = (vec![0; MAX_READ], 0);
            loop {
                if !mute {
                    table.vouching().vouch(PATIENCE).unwrap();
                }
                let mut fds = [tuns[0].as_fd(), tuns[1].as_fd(), stopped.as_fd()]
                    .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
                poll(&mut fds, PollTimeout::from(100_u8)).unwrap();
                if fds[2].any() == Some(true) {
                    return crossed;
                }
                for tun in &tuns {
                    while let Some((header, packet)) = tun.read(&mut buffer).unwrap() {
                        // Now and then the kernel itself says something there.
                        let at = if packet[0] >> 4 == 6 { 6 } else { 9 };
                        crossed += if packet[at] == TCP { packet.len() as u64 } else { 0 };
                        tun.write(&header, &[packet]).unwrap();
                    }
                }
            }
        });
        match wait.recv() {
            Ok(table) => Some(Reflector { thread, stop, table }),
            Err(_) => {
                thread.join().unwrap();
                None
            }
        }
    }

    /// Ends it and says how many bytes of segments have crossed it: how many segments these were is
    /// the kernel's to choose.
    pub(crate) fn stop(self) -> u64 {
        drop(self.stop);
        self.thread.join().unwrap()
    }
}

/// Takes whatever crosses interface g2 of m.
pub(crate) fn at_g2(attachment: Attachment) -> BumpConfig {
    BumpConfig {
        service: "bentpipe test".into(),
        devices: vec!["g2".into()],
        lan: None,
        tuns: ["bp-near".into(), "bp-far".into()],
        offload: Offload::TcpAndUdp,
        connections: 1000,
        attachment,
        reject_quic: false,
    }
}

/// All that this kernel has.
pub(crate) fn attachments() -> impl Iterator<Item = Attachment> {
    let newest = Attachment::of_this_kernel();
    let older = (newest != Attachment::Clsact).then_some(Attachment::Clsact);
    std::iter::once(newest).chain(older)
}

#[test]
fn all_that_a_router_does_it_does_as_without_us() {
    let Some(network) = Network::new("wire") else { return };
    router(&network);
    assert_eq!(failures(&network), Vec::<String>::new(), "without us");
    for attachment in attachments() {
        let Some(reflector) = Reflector::start(&network, attachment, false) else { return };
        assert_eq!(failures(&network), Vec::<String>::new(), "with us, by {attachment:?}");
        let invalid = network.run("m", "nft list chain inet fw through");
        assert!(invalid.contains("invalid counter packets 0 "), "{invalid}");
        assert!(reflector.stop() > over_the_satellite());
        network.await_end_of_devices();
        assert_eq!(network.run("m", "tc qdisc show dev g2 | grep clsact || true"), "");
    }
    assert_eq!(failures(&network), Vec::<String>::new(), "behind us");
}

#[test]
fn who_gives_no_sign_of_life_takes_nothing() {
    let Some(network) = Network::new("mute") else { return };
    for attachment in attachments() {
        let Some(reflector) = Reflector::start(&network, attachment, true) else { return };
        for address in ["10.77.2.2", "fd77:2::2"] {
            network.transfer(address, 100_000);
        }
        assert_eq!(reflector.stop(), 0, "{attachment:?}");
        network.await_end_of_devices();
    }
}

/// It would take what the first one gives back, and that one what it gives back itself.
#[test]
fn an_interface_where_another_gateway_takes_packets_is_refused() {
    let Some(network) = Network::new("held") else { return };
    let attachment = Attachment::of_this_kernel();
    let Some(reflector) = Reflector::start(&network, attachment, false) else { return };
    let second = network.on("m", move || {
        let (service, tuns) = ("bentpipe other".into(), ["bp-near-2".into(), "bp-far-2".into()]);
        let set_up = bump::set_up(&BumpConfig { service, tuns, ..at_g2(attachment) });
        set_up.map(|_| ()).map_err(|error| error.to_string())
    });
    let refused = second.join().unwrap().expect_err("the interface is held");
    let line = "another gateway (\"bentpipe test\") takes packets at g2 already: ";
    assert!(refused.starts_with(line), "{refused}");
    network.transfer("10.77.2.2", 100_000);
    assert!(reflector.stop() > 2 * 100_000);
}

#[test]
fn a_policy_by_interface_holds_and_what_it_leads_elsewhere_is_not_ours() {
    let Some(network) = Network::new("iif") else { return };
    network.add_third_interface();
    network.run(
        "m",
        "ip route add 10.77.9.0/24 via 10.77.2.2
         ip route add default via 10.77.3.2 table 5
         ip rule add iif g1 to 10.77.9.0/24 lookup 5 pref 1000",
    );
    network.run("d", "ip route add default via 10.77.3.1");
    let Some(reflector) = Reflector::start(&network, Attachment::of_this_kernel(), false) else {
        return;
    };
    let server = "10.77.9.9:7001".parse().unwrap();
    let from = ("h1", "10.77.1.2".parse().unwrap());
    network.try_transfer(from, server, ("d", server), 300_000).unwrap();
    assert_eq!(reflector.stop(), 0, "it went by the third interface");
}

/// The kernel loses what leaves by a device while its `clsact` is made or deleted.
#[test]
fn a_successor_finds_clsact_and_who_ends_for_good_deletes_what_was_made() {
    let Some(network) = Network::new("heirs") else { return };
    let takes = |network: &Network, for_successor: bool| {
        let thread = network.on("m", move || {
            let set_up = bump::set_up(&at_g2(Attachment::Clsact));
            let (wire, table, _tuns) = match set_up {
                Err(error @ BumpError::Bpf(BpfError::Permission)) => {
                    eprintln!("skipped: {error}");
                    return false;
                }
                set_up => set_up.unwrap(),
            };
            table.vouching().retract().unwrap();
            match for_successor {
                true => wire.end_for_successor(),
                false => drop(wire),
            }
            true
        });
        let took = thread.join().unwrap();
        network.await_end_of_devices();
        took
    };
    let filters =
        || network.run("m", "tc filter show dev g2 egress; tc filter show dev g2 ingress");
    let disciplines = || network.run("m", "tc qdisc show dev g2");
    if !takes(&network, true) {
        return;
    }
    let left = filters();
    assert_eq!(left.matches("handle").count(), 2, "{left}");
    network.transfer("10.77.2.2", 100_000);
    takes(&network, true);
    assert_eq!(filters().matches("handle").count(), 2, "they are replaced");
    takes(&network, false);
    assert!(!disciplines().contains("clsact"), "{}", disciplines());
    network.run("m", "tc qdisc add dev g2 clsact");
    takes(&network, true);
    takes(&network, false);
    assert_eq!(filters(), "");
    assert!(disciplines().contains("clsact"), "it is not ours");
}

/// Marks of others stay on what we put back, and choose nothing of ours.
#[test]
fn a_mark_that_a_packet_bore_is_on_what_stands_for_it() {
    let Some(network) = Network::new("mark") else { return };
    network.run(
        "m",
        "nft 'table inet bears {
           chain pre { type filter hook prerouting priority -150; iifname g1 meta mark set 0x6d6f6c65; }
         }
         table netdev seen {
           chain out { type filter hook egress device g2 priority 0;
             meta mark 0x6d6f6c65 meta l4proto tcp counter accept
             meta l4proto tcp counter
           }
         }'",
    );
    let Some(reflector) = Reflector::start(&network, Attachment::of_this_kernel(), false) else {
        return;
    };
    network.transfer("10.77.2.2", 3_000_000);
    assert!(reflector.stop() > 2 * 3_000_000);
    let seen = network.run("m", "nft list chain netdev seen out");
    let counted: Vec<&str> = seen.split("packets ").skip(1).collect();
    assert!(!counted[0].starts_with("0 ") && counted[1].starts_with("0 "), "{seen}");
}
