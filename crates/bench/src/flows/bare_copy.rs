//! A loop that gives each packet of a TUN device back to it.
//!
//! It does nothing else, so it shows the price of copies alone. That is no bound: a gateway that
//! splits connections keeps queues short and segments long.

use super::error::FlowsError;
use super::hosts::{DEVICES, Hosts};
use bentpipe_linux::netns::NetnsError;
use bentpipe_linux::tun::{MAX_READ, Offload, Tun};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::time::{ClockId, clock_gettime};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Packets that are read from one device before the other is asked.
const BURST: usize = 16;
/// Routing tables and rules for what comes in on either device.
const TABLES: [u32; 2] = [9201, 9202];
/// How long the loop waits before it looks whether it is over.
const LOOK: u16 = 100;

/// The loop at work. It ends when this is dropped.
#[derive(Debug)]
pub(super) struct BareCopy<'h> {
    hosts: &'h Hosts,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<io::Result<()>>>,
}

#[derive(Debug, Default)]
struct Shared {
    stop: AtomicBool,
    /// Processor time in nanoseconds.
    time: AtomicU64,
}

impl<'h> BareCopy<'h> {
    /// Routes what comes in at the router through the loop.
    ///
    /// # Errors
    /// [`FlowsError`]: no devices, or no rules.
    pub(super) fn begin(hosts: &'h Hosts, name: &str) -> Result<BareCopy<'h>, FlowsError> {
        let router = &hosts.router;
        let open = |number: usize| Tun::open(&device(number), Offload::Tcp);
        let tuns = router.run(|| Ok([open(0)?, open(1)?]))?.map_err(
            |error: bentpipe_linux::tun::TunError| FlowsError::Forwarder {
                name: name.to_owned(),
                why: error.to_string(),
            },
        )?;
        let shared = Arc::new(Shared::default());
        let looping = Arc::clone(&shared);
        let thread = Some(thread::spawn(move || copy(&tuns, &looping)));
        let begun = BareCopy { hosts, shared, thread };
        begun.route()?;
        Ok(begun)
    }

    fn route(&self) -> Result<(), NetnsError> {
        let router = &self.hosts.router;
        let processors = thread::available_parallelism().map_or(1, usize::from).min(32);
        for (number, (from, table)) in DEVICES.iter().zip(TABLES).enumerate() {
            let device = device(number);
            // As the gateway's devices are.
            router.ip(&format!(
                "link set {device} mtu 65535 txqueuelen 4096 up\n\
                 route add default dev {device} table {table}\n\
                 rule add iif {from} lookup {table} pref {table}\n"
            ))?;
            let mask = format!("{:x}", (1_u64 << processors) - 1);
            let spread =
                format!("echo {mask} >/sys/class/net/{device}/queues/rx-0/rps_cpus || true");
            router.output("sh", &["-c", &spread])?;
        }
        Ok(())
    }

    /// The processor time that it has had so far.
    pub(super) fn time(&self) -> Duration {
        Duration::from_nanos(self.shared.time.load(Relaxed))
    }
}

impl Drop for BareCopy<'_> {
    fn drop(&mut self) {
        for table in TABLES {
            if let Err(error) = self.hosts.router.ip(&format!("rule del pref {table}\n")) {
                tracing::warn!("bench flows: {error}");
            }
        }
        self.shared.stop.store(true, Relaxed);
        if let Some(Ok(Err(error))) = self.thread.take().map(JoinHandle::join) {
            tracing::warn!("bench flows: {error}");
        }
    }
}

fn device(number: usize) -> String {
    format!("copy{number}")
}

fn copy(tuns: &[Tun; 2], shared: &Shared) -> io::Result<()> {
    let mut buffer = vec![0; MAX_READ];
    while !shared.stop.load(Relaxed) {
        let mut ready = tuns.each_ref().map(|tun| PollFd::new(tun.as_fd(), PollFlags::POLLIN));
        poll(&mut ready, PollTimeout::from(LOOK))?;
        for tun in tuns {
            for _ in 0..BURST {
                // A packet that makes no sense is gone, as is one for which there is no memory.
                let Ok(Some((header, bytes))) = tun.read(&mut buffer) else { break };
                let _ = tun.write(&header, &[bytes]);
            }
        }
        let time = Duration::from(clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID)?);
        shared.time.store(time.as_nanos() as u64, Relaxed);
    }
    Ok(())
}
