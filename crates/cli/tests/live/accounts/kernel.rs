//! The kernel's own accounts of a host's connections.
//!
//! They are `tcp_info` as each connection is destroyed, and the tracepoint of retransmissions.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use bentpipe_linux::netns::process::Process;
use bentpipe_linux::netns::teardown::unique_name;
use nix::sys::signal::Signal;

use crate::toolbox::{PATIENCE, await_said, wait_until};

/// What the kernel says of one end of a connection. Times are in seconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Account {
    /// Its own address and its peer's.
    pub(super) ends: Option<(SocketAddr, SocketAddr)>,
    /// Bytes that its peer has acknowledged.
    pub(super) acked: u64,
    /// Something was outstanding, or waited to be sent.
    pub(super) busy: f64,
    /// Of that: the peer's window was full.
    pub(super) rwnd_limited: f64,
    /// Of that: the send buffer was.
    pub(super) sndbuf_limited: f64,
    /// Segments that were retransmitted.
    pub(super) retransmitted: u64,
}

/// All that watches the connections of a host.
pub(super) struct Witness {
    dump: Process,
    destroyed: Process,
    tracepoint: Option<Tracepoint>,
    capture: PathBuf,
}

impl Witness {
    /// Begins to watch `host`; its capture lies in `folder`.
    pub(super) fn start(host: &Namespace, folder: &Path) -> Witness {
        let capture = folder.join("sender.pcap");
        let mut dump = host.command("tcpdump");
        dump.args(["--immediate-mode", "-U", "-B", "16384", "-s", "120", "-i", "eth0", "-w"]);
        let dump = Process::start("tcpdump", dump.arg(&capture).arg("tcp")).expect("tcpdump");
        await_said(&dump, "listening on", 1);
        // It writes into a pipe, and is to do so line by line.
        let mut destroyed = host.command("stdbuf");
        destroyed.args(["-oL", "ss", "-tinOHE"]);
        let destroyed = Process::start("ss", &mut destroyed).expect("ss");
        // Nothing says when it listens.
        std::thread::sleep(Duration::from_millis(500));
        Witness { dump, destroyed, tracepoint: Tracepoint::start(), capture }
    }

    /// Ends as soon as `connections` or more with data have been destroyed. Returns their accounts,
    /// the capture, and how often the kernel retransmitted for each, if it says so.
    pub(super) fn finish(mut self, connections: usize) -> (Vec<Account>, PathBuf, Option<Traced>) {
        let accounts = wait_until("connections are destroyed", || {
            let said = self.destroyed.stdout();
            let accounts: Vec<Account> = said.lines().filter_map(account).collect();
            let with_data = accounts.iter().filter(|account| account.acked > 1).count();
            if with_data >= connections { Ok(accounts) } else { Err(said) }
        });
        // The last packets are in the file when it is as it was a moment ago.
        let mut before = 0;
        wait_until("the capture is written", || {
            std::thread::sleep(Duration::from_millis(300));
            let now = fs::metadata(&self.capture).map_or(0, |data| data.len());
            let is_still = now == before && now > 0;
            before = now;
            if is_still { Ok(()) } else { Err(format!("{now} bytes, and growing")) }
        });
        for process in [&mut self.dump, &mut self.destroyed] {
            process.signal(Signal::SIGTERM);
            process.wait(PATIENCE).expect("it ends");
        }
        (accounts, self.capture, self.tracepoint.map(Tracepoint::finish))
    }
}

/// A line of `ss -tinO`.
fn account(line: &str) -> Option<Account> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let end = |word: &str| word.parse().map(canonical).ok();
    let ends = Some((end(words.get(3)?)?, end(words.get(4)?)?));
    let value = |name: &str| words.iter().find_map(|word| word.strip_prefix(name));
    // Such as 11908ms(92.0%).
    let time = |name: &str| {
        let number = value(name).and_then(|value| value.split("ms").next());
        number.and_then(|number| number.parse::<f64>().ok()).map_or(0.0, |ms| ms / 1000.0)
    };
    let retransmitted = value("retrans:").and_then(|value| value.split('/').nth(1));
    Some(Account {
        ends,
        acked: value("bytes_acked:").and_then(|bytes| bytes.parse().ok()).unwrap_or(0),
        busy: time("busy:"),
        rwnd_limited: time("rwnd_limited:"),
        sndbuf_limited: time("sndbuf_limited:"),
        retransmitted: retransmitted.and_then(|number| number.parse().ok()).unwrap_or(0),
    })
}

/// An address of IPv4, where a socket of IPv6 has it mapped.
fn canonical(end: SocketAddr) -> SocketAddr {
    SocketAddr::new(end.ip().to_canonical(), end.port())
}

/// The lines of the tracepoint.
#[derive(Debug)]
pub(super) struct Traced(String);

impl Traced {
    /// How often the kernel retransmitted from this port to that one.
    pub(super) fn times(&self, (from, to): (SocketAddr, SocketAddr)) -> u64 {
        let ports = [format!(" sport={} ", from.port()), format!(" dport={} ", to.port())];
        let mine = self.0.lines().filter(|line| ports.iter().all(|port| line.contains(port)));
        mine.count() as u64
    }
}

/// The tracepoint `tcp:tcp_retransmit_skb`, in a buffer of its own.
struct Tracepoint {
    instance: PathBuf,
    /// Where the file system was mounted for this, if it was not there.
    mounted: Option<PathBuf>,
}

impl Tracepoint {
    /// Switches it on; `None` where the kernel has none.
    fn start() -> Option<Tracepoint> {
        let system = Path::new("/sys/kernel/tracing");
        let mounted = (!system.join("instances").exists()).then(|| {
            let place = std::env::temp_dir().join(unique_name());
            fs::create_dir(&place).expect("directory");
            let mut mount = Command::new("mount");
            mount.args(["-t", "tracefs", "nodev"]).arg(&place);
            _ = mount.output();
            place
        });
        let root = mounted.as_deref().unwrap_or(system);
        let instance = root.join("instances").join(unique_name());
        let mut tracepoint = Tracepoint { instance, mounted };
        let event = tracepoint.instance.join("events/tcp/tcp_retransmit_skb/enable");
        let is_on = fs::create_dir(&tracepoint.instance).is_ok() && fs::write(event, "1").is_ok();
        if !is_on {
            println!("no tracepoint tcp:tcp_retransmit_skb: `ss` counts retransmissions");
            tracepoint.remove();
        }
        is_on.then_some(tracepoint)
    }

    fn finish(mut self) -> Traced {
        let text = fs::read_to_string(self.instance.join("trace")).expect("a trace");
        self.remove();
        Traced(text)
    }

    fn remove(&mut self) {
        _ = fs::remove_dir(&self.instance);
        if let Some(place) = self.mounted.take() {
            _ = Command::new("umount").arg(&place).output();
            _ = fs::remove_dir(place);
        }
    }
}

impl Drop for Tracepoint {
    fn drop(&mut self) {
        self.remove();
    }
}
