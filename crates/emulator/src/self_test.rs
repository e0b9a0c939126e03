//! How well this machine emulates a link: two hosts of our own, which fill the link for some
//! seconds, and a bare timer beside it.

use crate::bare_timer;
use crate::duplex_link::DuplexLinkConfig;
use crate::emulator::{Emulator, Exit};
use crate::lateness::Lateness;
use crate::summary::LinkSummary;
use bentpipe_core::units::Rate;
use bentpipe_linux::command::{CommandError, run as run_command};
use bentpipe_linux::poll::LoopError;
use bentpipe_linux::real_time;
use bentpipe_linux::signals::Signals;
use bentpipe_linux::tun::{Offload, Tun, TunError};
use nix::sched::{CloneFlags, unshare};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeValLike;
use std::io;
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a packet, and of it without headers of IPv4 and UDP.
const PACKET: usize = 1500;
const PAYLOAD: usize = PACKET - 28;
/// How often packets are sent.
const TICK: Duration = Duration::from_millis(1);
/// More than the link carries.
const EXCESS: f64 = 1.1;
/// Packets that are sent at once, as one super-segment: the longest IP packet has room for no more.
const AT_ONCE: usize = 44;
/// What a receiver's socket keeps.
const ROOM: usize = 16 << 20;

/// Why there was no test.
#[derive(Debug, thiserror::Error)]
pub enum SelfTestError {
    /// No namespace.
    #[error("cannot create a network namespace: {0} (it takes root)")]
    Namespace(io::Error),
    /// A TUN device.
    #[error(transparent)]
    Tun(#[from] TunError),
    /// `ip`.
    #[error(transparent)]
    Command(#[from] CommandError),
    /// The emulator.
    #[error(transparent)]
    Emulator(#[from] LoopError),
    /// Real-time priority.
    #[error("no real-time priority: {0} (it takes root)")]
    RealTime(io::Error),
    /// Sockets.
    #[error("cannot test: {0}")]
    Io(#[from] io::Error),
}

/// What was found.
#[derive(Debug)]
pub struct SelfTest {
    /// What came out of each direction that was filled, as the receiver saw it; none of fewer than
    /// two packets.
    pub rates: [Option<Rate>; 2],
    /// What the emulator says of itself.
    pub summary: LinkSummary,
    /// By how much later than asked a thread woke that only slept meanwhile.
    pub bare_timer: Lateness,
    /// Processor time that the emulator's thread has used, a packet that it has released; none
    /// without packets.
    pub cost: Option<Duration>,
}

/// Fills the link that is configured so for `span`, each direction with more than its `rates` say,
/// or not at all. Emulator and bare timer are real-time threads if told so. The namespaces have no
/// names and go with this process.
///
/// # Errors
/// [`SelfTestError`].
pub fn run(
    config: DuplexLinkConfig,
    rates: [Option<Rate>; 2],
    span: Duration,
    realtime: bool,
) -> Result<SelfTest, SelfTestError> {
    let signals = Signals::catch()?;
    let [(near, near_host), (far, far_host)] = [host("bp-self0", 1)?, host("bp-self1", 2)?];
    near_host.socket.connect("198.18.255.2:9000")?;
    far_host.socket.connect("198.18.255.1:9000")?;
    let mut emulator = Emulator::new([near, far], Exit::Other, config);
    let (stop, stopped) = UnixStream::pair()?;
    let ended = AtomicBool::new(false);
    let (near, far) = (&near_host, &far_host);
    let used =
        || getrusage(UsageWho::RUSAGE_THREAD).map(|usage| usage.user_time() + usage.system_time());
    let before = used();
    let (measured, ran) = thread::scope(|scope| {
        let receiving = [far, near].map(|host| scope.spawn(|| receive(&host.socket, &ended)));
        let sleeping =
            scope.spawn(|| begin_real_time(realtime).map(|()| bare_timer::measure(&ended)));
        let ended = &ended;
        scope.spawn(move || {
            thread::scope(|scope| {
                for (sender, rate) in [near, far].into_iter().zip(rates) {
                    scope.spawn(move || rate.map(|rate| fill(sender, rate, span)));
                }
            });
            ended.store(true, Ordering::Relaxed);
            drop(stop);
        });
        // Last, as threads that it starts would be ordinary ones.
        let prepared = begin_real_time(realtime);
        let ran = emulator.run(&signals, Some(&stopped));
        // It may have ended by itself, or by a signal.
        ended.store(true, Ordering::Relaxed);
        let received = receiving.map(|thread| thread.join().ok().flatten());
        let timer = sleeping.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (prepared.and(timer).map(|timer| (timer, received)), ran)
    });
    ran?;
    let (bare_timer, received) = measured?;
    let summary = emulator.summary();
    let cost = before.ok().zip(used().ok()).and_then(|(before, after)| {
        let nanos = u64::try_from((after - before).num_nanoseconds()).ok()?;
        nanos.checked_div(summary.lateness.packets()).map(Duration::from_nanos)
    });
    Ok(SelfTest { rates: received, summary, bare_timer, cost })
}

fn begin_real_time(wanted: bool) -> Result<(), SelfTestError> {
    if wanted { real_time::begin().map_err(SelfTestError::RealTime) } else { Ok(()) }
}

/// One of the two ends.
#[derive(Debug)]
struct Host {
    socket: UdpSocket,
    /// Packets that one call sends.
    at_once: usize,
}

/// A namespace with a TUN device and a socket at its address, 198.18.255.N.
fn host(device: &str, number: u8) -> Result<(Tun, Host), SelfTestError> {
    // A thread moves into the new namespace; what it opens belongs there.
    let entered = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| SelfTestError::Namespace(errno.into()))?;
            let tun = Tun::open(device, Offload::TcpAndUdp)?;
            let setting = format!(
                "address add 198.18.255.{number}/30 dev {device}\n\
                 link set dev {device} mtu 1500 txqueuelen 5000 up\n"
            );
            run_command("ip", &["-batch", "-"], &setting)?;
            let socket = UdpSocket::bind(format!("198.18.255.{number}:9000"))?;
            socket.set_read_timeout(Some(Duration::from_millis(100)))?;
            // Hosts that cost little beside the emulator; on older kernels they cost more.
            let segments = setsockopt(&socket, sockopt::UdpGsoSegment, &(PAYLOAD as i32)).is_ok();
            let at_once = if segments { AT_ONCE } else { 1 };
            let _ = setsockopt(&socket, sockopt::UdpGroSegment, &true);
            let _ = setsockopt(&socket, sockopt::RcvBufForce, &ROOM);
            Ok::<_, SelfTestError>((tun, Host { socket, at_once }))
        });
        thread.join()
    });
    entered.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Sends more than `rate` for `span`.
fn fill(sender: &Host, rate: Rate, span: Duration) {
    let packets = [0; PAYLOAD * AT_ONCE];
    let per_second = rate.bits_per_sec() as f64 / 8.0 / PACKET as f64 * EXCESS;
    let begin = Instant::now();
    let mut sent = 0;
    while begin.elapsed() < span {
        let due = (begin.elapsed().as_secs_f64() * per_second) as usize + 1;
        while sent < due {
            let count = (due - sent).min(sender.at_once);
            // What the kernel does not take is what the link would drop.
            let _ = sender.socket.send(&packets[..count * PAYLOAD]);
            sent += count;
        }
        thread::sleep(TICK);
    }
}

/// The rate at which packets come, until it has `ended`.
fn receive(receiver: &UdpSocket, ended: &AtomicBool) -> Option<Rate> {
    let (mut first, mut last, mut bytes) = (None, None, 0);
    let mut packets = vec![0; 1 << 16];
    while !ended.load(Ordering::Relaxed) {
        let Ok(length) = receiver.recv(&mut packets) else { continue };
        let now = Instant::now();
        match first {
            None => first = Some(now),
            // Several may come at once, each without its headers.
            Some(_) => bytes += length.div_ceil(PAYLOAD) * PACKET,
        }
        last = Some(now);
    }
    let seconds = last?.saturating_duration_since(first?).as_secs_f64();
    let bits = bytes as f64 * 8.0 / seconds;
    bits.is_finite().then(|| Rate::from_bits_per_sec(bits.round() as u64))
}
