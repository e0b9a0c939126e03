//! The diversion and the emulator on real packets: h1 – m – h2, three network namespaces.
//!
//! They need root that may make namespaces, `ip`, `nft` and `ping`; without it they say so and pass.

use bentpipe_core::link::LinkConfig;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_net::divert::{Divert, DivertConfig, Obstacles, Side, checks::Finding};
use bentpipe_net::emulator::{Emulator, Exit};
use bentpipe_net::signals::Signals;
use bentpipe_net::tun::MAX_READ;
use caps::{CapSet, Capability, has_cap};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sched::{CloneFlags, setns};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::Instant;

const H2: [&str; 2] = ["10.77.2.2", "fd77:2::2"];

/// Three namespaces, removed when dropped.
struct Network {
    prefix: String,
}

impl Network {
    /// `None` without root, or for one that may make no namespaces, as in a container.
    fn new(test: &str) -> Option<Network> {
        let may = [Capability::CAP_SYS_ADMIN, Capability::CAP_NET_ADMIN]
            .map(|what| has_cap(None, CapSet::Effective, what).unwrap());
        if may != [true, true] {
            eprintln!("skipped: needs root that may make network namespaces");
            return None;
        }
        let network = Network { prefix: format!("bpa-{test}-{}", std::process::id()) };
        let [h1, m, h2] = ["h1", "m", "h2"].map(|host| network.name(host));
        for name in [&h1, &m, &h2] {
            ip(&format!("netns add {name}"));
            ip(&format!("-n {name} link set lo up"));
        }
        for (number, host) in [(1, &h1), (2, &h2)] {
            ip(&format!("-n {m} link add g{number} type veth peer name e netns {host}"));
            ip(&format!("-n {m} addr add 10.77.{number}.1/24 dev g{number}"));
            ip(&format!("-n {m} addr add fd77:{number}::1/64 dev g{number} nodad"));
            ip(&format!("-n {m} link set g{number} up"));
            ip(&format!("-n {host} addr add 10.77.{number}.2/24 dev e"));
            ip(&format!("-n {host} addr add fd77:{number}::2/64 dev e nodad"));
            ip(&format!("-n {host} link set e up"));
            ip(&format!("-n {host} route add default via 10.77.{number}.1"));
            ip(&format!("-n {host} -6 route add default via fd77:{number}::1"));
        }
        network.run("m", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
        Some(network)
    }

    fn name(&self, host: &str) -> String {
        format!("{}-{host}", self.prefix)
    }

    /// Runs a shell command on `host` and returns what it prints.
    fn run(&self, host: &str, command: &str) -> String {
        let output = Command::new("ip")
            .args(["netns", "exec", &self.name(host), "sh", "-c", command])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}: {text} {output:?}");
        text
    }

    /// Runs `work` in a thread on `host`.
    fn on<T: Send + 'static>(
        &self,
        host: &str,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> JoinHandle<T> {
        let path = format!("/run/netns/{}", self.name(host));
        thread::spawn(move || {
            setns(File::open(path).unwrap(), CloneFlags::CLONE_NEWNET).unwrap();
            work()
        })
    }

    /// Sends `length` bytes from h1 to h2 and the same back, and checks every one.
    fn transfer(&self, address: &str, length: usize) {
        let address: IpAddr = address.parse().unwrap();
        let (ready, port) = mpsc::channel();
        let server = self.on("h2", move || {
            let listener = TcpListener::bind((address, 0)).unwrap();
            ready.send(listener.local_addr().unwrap().port()).unwrap();
            let (mut stream, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            stream.read_to_end(&mut bytes).unwrap();
            stream.write_all(&bytes).unwrap();
        });
        let port = port.recv().unwrap();
        let client = self.on("h1", move || {
            let wait = Duration::from_secs(60);
            let mut stream = TcpStream::connect_timeout(&(address, port).into(), wait).unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
            let sent: Vec<u8> = (0..length).map(|i| (i * 7 + i / 251) as u8).collect();
            stream.write_all(&sent).unwrap();
            stream.shutdown(Shutdown::Write).unwrap();
            let mut back = Vec::new();
            stream.read_to_end(&mut back).unwrap();
            assert!(sent == back, "{length} bytes to {address} came back changed");
        });
        client.join().unwrap();
        server.join().unwrap();
    }

    /// Waits until h1's and the middle host's neighbours are known, which takes IPv6 seconds where the
    /// machine is busy, and may fail at first.
    fn meet_neighbours(&self, address: &str) {
        let ping = format!("ping -c1 -W10 {address} >&2 && echo reached || true");
        within("no way", || (self.run("h1", &ping) != "reached\n").then(|| address.to_owned()));
    }

    /// Waits until our devices are gone. That is not when their descriptors are closed here: another
    /// test's child that was forked before has them, too, until it is executed.
    fn await_end_of_devices(&self) {
        within("devices", || {
            Some(self.run("m", "ip -br link | grep bp- || true")).filter(|left| !left.is_empty())
        });
    }

    /// Nothing of ours is left in the middle host.
    fn assert_clean(&self) {
        assert_eq!(self.run("m", "nft list tables | grep bentpipe || true"), "");
        assert_eq!(self.run("m", "(ip rule; ip -6 rule) | grep fwmark || true"), "");
        self.await_end_of_devices();
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in ["h1", "m", "h2"] {
            let _ = Command::new("ip").args(["netns", "del", &self.name(host)]).status();
        }
    }
}

/// Asks again until nothing is `left`, for as long as a machine may take that many share.
fn within(what: &str, left: impl Fn() -> Option<String>) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while let Some(left) = left() {
        assert!(Instant::now() < deadline, "{what}: {left}");
        thread::sleep(Duration::from_millis(20));
    }
}

fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split_whitespace()).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}

fn sides() -> [Side; 2] {
    [("g1", "bp-near"), ("g2", "bp-far")]
        .map(|(interface, tun)| Side { interfaces: vec![interface.into()], tun: tun.into() })
}

/// A gateway that gives every packet back as it came, super-segments included.
struct Reflector {
    thread: JoinHandle<u64>,
    stop: UnixStream,
    findings: Vec<Finding>,
}

impl Reflector {
    fn start(network: &Network) -> Reflector {
        let (stop, stopped) = UnixStream::pair().unwrap();
        let (ready, findings) = mpsc::channel();
        let thread = network.on("m", move || {
            let (divert, tuns) =
                Divert::set_up(DivertConfig::gateway(sides()), Obstacles::Told).unwrap();
            ready.send(divert.findings().to_vec()).unwrap();
            let mut buffer = vec![0; MAX_READ];
            let mut super_segments = 0;
            loop {
                let mut fds = [tuns[0].as_fd(), tuns[1].as_fd(), stopped.as_fd()]
                    .map(|fd| PollFd::new(fd, PollFlags::POLLIN));
                poll(&mut fds, PollTimeout::NONE).unwrap();
                if fds[2].any() == Some(true) {
                    return super_segments;
                }
                for tun in &tuns {
                    while let Some((header, packet)) = tun.read(&mut buffer).unwrap() {
                        super_segments += u64::from(header.gso.is_some());
                        // In three slices, as the gateway writes headers and payload.
                        let (head, rest) = packet.split_at(40);
                        let (middle, tail) = rest.split_at(rest.len() / 2);
                        tun.write(&header, &[head, middle, tail]).unwrap();
                    }
                }
            }
        });
        Reflector { thread, stop, findings: findings.recv().unwrap() }
    }

    /// Ends it and says how many super-segments it has carried.
    fn stop(self) -> u64 {
        drop(self.stop);
        self.thread.join().unwrap()
    }
}

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
        let (_divert, tuns) = Divert::set_up(DivertConfig::link(sides()), Obstacles::Told).unwrap();
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

/// A datagram from h1 to `port` of h2, which answers it: what came back, or why nothing did. The server waits until the
/// client has been told one or the other.
fn echo(network: &Network, address: &str, port: u16) -> io::Result<usize> {
    let address: IpAddr = address.parse().unwrap();
    let (tell, told) = mpsc::channel::<()>();
    let (ready, wait) = mpsc::channel();
    let server = network.on("h2", move || {
        let socket = UdpSocket::bind((address, port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        ready.send(()).unwrap();
        let mut buffer = [0; 2000];
        while told.try_recv() == Err(mpsc::TryRecvError::Empty) {
            if let Ok((len, from)) = socket.recv_from(&mut buffer) {
                socket.send_to(&buffer[..len], from).unwrap();
            }
        }
    });
    wait.recv().unwrap();
    let client = network.on("h1", move || {
        let any: IpAddr = if address.is_ipv4() { [0; 4].into() } else { [0u16; 8].into() };
        let socket = UdpSocket::bind((any, 0)).unwrap();
        socket.connect((address, port)).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        socket.send(&[7; 1200]).unwrap();
        socket.recv(&mut [0; 2000])
    });
    let result = client.join().unwrap();
    drop(tell);
    server.join().unwrap();
    result
}

#[test]
fn quic_is_rejected_while_we_live_and_forwarded_when_we_die() {
    let Some(network) = Network::new("quic") else { return };
    // A firewall that would drop in silence what leaves by a device that it does not know.
    network.run(
        "m",
        "nft 'add table inet fw
              add chain inet fw f { type filter hook forward priority 0; policy drop; }
              add rule inet fw f iifname { g1, g2 } oifname { g1, g2 } accept'",
    );
    let (die, dying) = mpsc::channel::<()>();
    let (ready, wait) = mpsc::channel();
    let thread = network.on("m", move || {
        let config = DivertConfig { reject_quic: true, ..DivertConfig::gateway(sides()) };
        let (divert, tuns) = Divert::set_up(config, Obstacles::Told).unwrap();
        ready.send(()).unwrap();
        let _ = dying.recv();
        // As when the process is killed: nothing of ours is undone, and the devices vanish.
        drop(tuns);
        divert
    });
    wait.recv().unwrap();
    for address in H2 {
        network.meet_neighbours(address);
        let rejected = echo(&network, address, 443).expect_err("it is rejected").kind();
        assert_eq!(rejected, io::ErrorKind::ConnectionRefused, "{address}");
        assert_eq!(echo(&network, address, 4433).unwrap(), 1200, "other ports pass");
    }
    drop(die);
    let divert = thread.join().unwrap();
    network.await_end_of_devices();
    assert!(network.run("m", "nft list ruleset").contains("udp dport 443 reject"));
    for address in H2 {
        assert_eq!(echo(&network, address, 443).unwrap(), 1200, "nothing is left that rejects");
    }
    // Its lock must not outlive the namespace, whose number the next one has.
    network.on("m", || drop(divert)).join().unwrap();
}
