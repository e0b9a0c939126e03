//! Hosts in network namespaces around one whose packets are taken.

use caps::{CapSet, Capability, has_cap};
use nix::sched::{CloneFlags, setns};
use socket2::{Domain, Socket, Type};
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Three namespaces, removed when dropped.
pub(crate) struct Network {
    prefix: String,
}

impl Network {
    /// `None` without root, or for one that may make no namespaces, as in a container.
    ///
    /// # Panics
    /// With the command that installs them, if programs are missing that the tests run.
    pub(crate) fn new(test: &str) -> Option<Network> {
        let may = [Capability::CAP_SYS_ADMIN, Capability::CAP_NET_ADMIN]
            .map(|what| has_cap(None, CapSet::Effective, what).unwrap());
        if may != [true, true] {
            eprintln!("skipped: needs root that may make network namespaces");
            return None;
        }
        let missing = missing_programs(&std::env::var_os("PATH").unwrap_or_default());
        assert!(
            missing.is_empty(),
            "missing programs: {}; run scripts/install-packages.sh tests as root",
            missing.join(", ")
        );
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

    pub(crate) fn name(&self, host: &str) -> String {
        format!("{}-{host}", self.prefix)
    }

    /// Runs a shell command on `host` and returns what it prints.
    pub(crate) fn run(&self, host: &str, command: &str) -> String {
        let output = Command::new("ip")
            .args(["netns", "exec", &self.name(host), "sh", "-c", command])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{command}: {text} {output:?}");
        text
    }

    /// Runs `work` in a thread on `host`.
    pub(crate) fn on<T: Send + 'static>(
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

    /// d on m's interface g3, and c behind h1, whose link to it carries 1300 bytes (IPv4 and IPv6).
    pub(crate) fn add_third_interface(&self) {
        let [h1, m, c, d] = ["h1", "m", "c", "d"].map(|host| self.name(host));
        for name in [&c, &d] {
            ip(&format!("netns add {name}"));
            ip(&format!("-n {name} link set lo up"));
        }
        for (number, router, host) in [(3, &m, &d), (4, &h1, &c)] {
            ip(&format!("-n {router} link add g{number} type veth peer name e netns {host}"));
            ip(&format!("-n {router} addr add 10.77.{number}.1/24 dev g{number}"));
            ip(&format!("-n {router} addr add fd77:{number}::1/64 dev g{number} nodad"));
            ip(&format!("-n {router} link set g{number} up"));
            ip(&format!("-n {host} addr add 10.77.{number}.2/24 dev e"));
            ip(&format!("-n {host} addr add fd77:{number}::2/64 dev e nodad"));
            ip(&format!("-n {host} link set e up"));
        }
        ip(&format!("-n {h1} link set g4 mtu 1300"));
        ip(&format!("-n {h1} addr add 10.77.1.3/24 dev e"));
        ip(&format!("-n {d} addr add 10.77.9.9 dev lo"));
        // As if it lay behind another router: its host takes long segments, and sends none.
        ip(&format!("-n {c} link set e mtu 1300"));
        ip(&format!("-n {c} route add default via 10.77.4.1 advmss 1460"));
        ip(&format!("-n {c} -6 route add default via fd77:4::1 advmss 1440"));
        ip(&format!("-n {m} route add 10.77.4.0/24 via 10.77.1.2"));
        ip(&format!("-n {m} -6 route add fd77:4::/64 via fd77:1::2"));
        self.run("h1", "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1");
    }

    /// Sends `length` bytes from a host with an address of its own to another one, where they
    /// arrive at `server`, and the same back.
    pub(crate) fn try_transfer(
        &self,
        (host, from): (&str, IpAddr),
        to: SocketAddr,
        server: (&str, SocketAddr),
        length: usize,
    ) -> io::Result<()> {
        self.exchange(host, to, server, length, move |socket| {
            socket.bind(&SocketAddr::new(from, 0).into())
        })
    }

    fn exchange(
        &self,
        host: &str,
        to: SocketAddr,
        (server, listen): (&str, SocketAddr),
        length: usize,
        prepare: impl FnOnce(&Socket) -> io::Result<()> + Send + 'static,
    ) -> io::Result<()> {
        const PATIENCE: Duration = Duration::from_secs(60);
        let (ready, wait) = mpsc::channel();
        let server = self.on(server, move || -> io::Result<()> {
            let socket = Socket::new(Domain::for_address(listen), Type::STREAM, None)?;
            socket.set_reuse_address(true)?;
            socket.bind(&listen.into())?;
            socket.listen(1)?;
            // That it accepts in vain has an end, too.
            socket.set_read_timeout(Some(PATIENCE))?;
            ready.send(()).expect("the client's thread");
            let mut stream: TcpStream = socket.accept()?.0.into();
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let mut bytes = vec![0; length];
            stream.read_exact(&mut bytes)?;
            stream.write_all(&bytes)?;
            stream.read_to_end(&mut bytes).map(|_| ())
        });
        if wait.recv().is_err() {
            return server.join().unwrap();
        }
        let client = self.on(host, move || -> io::Result<()> {
            let socket = Socket::new(Domain::for_address(to), Type::STREAM, None)?;
            prepare(&socket)?;
            socket.connect_timeout(&to.into(), PATIENCE)?;
            let mut stream: TcpStream = socket.into();
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let sent: Vec<u8> = (0..length).map(|i| (i * 7 + i / 251) as u8).collect();
            stream.write_all(&sent)?;
            let mut back = vec![0; length];
            stream.read_exact(&mut back)?;
            assert!(sent == back, "{length} bytes to {to} came back changed");
            Ok(())
        });
        let result = client.join().unwrap();
        let served = server.join().unwrap();
        result.and(served)
    }

    /// Sends `length` bytes from h1 to h2 and the same back, and checks every one.
    pub(crate) fn transfer(&self, address: &str, length: usize) {
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

    /// Waits until h1's and the middle host's neighbours are known, which takes IPv6 seconds where
    /// the machine is busy, and may fail at first.
    pub(crate) fn meet_neighbours(&self, address: &str) {
        let ping = format!("ping -c1 -W10 {address} >&2 && echo reached || true");
        within("no way", || (self.run("h1", &ping) != "reached\n").then(|| address.to_owned()));
    }

    /// Waits until our devices are gone. That is not when their descriptors are closed here:
    /// another test's child that was forked before has them, too, until it is executed.
    pub(crate) fn await_end_of_devices(&self) {
        within("devices", || {
            Some(self.run("m", "ip -br link | grep bp- || true")).filter(|left| !left.is_empty())
        });
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for host in ["h1", "m", "h2", "c", "d"] {
            let name = self.name(host);
            if !std::path::Path::new(&format!("/run/netns/{name}")).exists() {
                continue;
            }
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

/// Those of the programs that the tests run which no folder of `path` has.
fn missing_programs(path: &OsStr) -> Vec<&'static str> {
    let is_there =
        |program: &str| std::env::split_paths(path).any(|dir| dir.join(program).exists());
    ["ip", "nft", "ping", "sysctl", "tc"].into_iter().filter(|it| !is_there(it)).collect()
}

#[test]
fn missing_programs_are_named() {
    let folder = tempfile::tempdir().unwrap();
    for program in ["ip", "sysctl", "tc"] {
        File::create(folder.path().join(program)).unwrap();
    }
    assert_eq!(missing_programs(folder.path().as_os_str()), ["nft", "ping"]);
}

/// Asks again until nothing is `left`, for as long as a machine may take that many share.
pub(crate) fn within(what: &str, left: impl Fn() -> Option<String>) {
    let deadline = Instant::now() + Duration::from_secs(120);
    while let Some(left) = left() {
        assert!(Instant::now() < deadline, "{what}: {left}");
        thread::sleep(Duration::from_millis(20));
    }
}

pub(crate) fn ip(arguments: &str) {
    let status = Command::new("ip").args(arguments.split_whitespace()).status().unwrap();
    assert!(status.success(), "ip {arguments}");
}
