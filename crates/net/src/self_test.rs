//! How well this machine emulates a link: two hosts of our own, one of which fills the link for some seconds.

use crate::command::{CommandError, run as run_command};
use crate::emulator::{Emulator, Exit, LinkSummary};
use crate::poll::LoopError;
use crate::signals::Signals;
use crate::tun::{Offload, Tun, TunError};
use crate::way::WayParts;
use bentpipe_core::units::Rate;
use nix::sched::{CloneFlags, unshare};
use std::io;
use std::net::UdpSocket;
use std::os::unix::net::UnixStream;
use std::thread;
use std::time::{Duration, Instant};

/// Bytes of a packet, and of it without headers of IPv4 and UDP.
const PACKET: usize = 1250;
const PAYLOAD: usize = PACKET - 28;
/// How often packets are sent.
const TICK: Duration = Duration::from_millis(1);
/// More than the link carries.
const EXCESS: f64 = 1.1;

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
    /// Sockets.
    #[error("cannot test: {0}")]
    Io(#[from] io::Error),
}

/// What was found.
#[derive(Debug)]
pub struct SelfTest {
    /// What came out, as the receiver saw it; none of fewer than two packets.
    pub rate: Option<Rate>,
    /// What the emulator says of itself.
    pub summary: LinkSummary,
}

/// Fills the link of these `parts`, whose rate is `rate`, for `span`. The namespaces have no names and go with
/// this process.
///
/// # Errors
/// [`SelfTestError`].
pub fn run(parts: [WayParts; 2], rate: Rate, span: Duration) -> Result<SelfTest, SelfTestError> {
    let signals = Signals::catch()?;
    let (near, sender) = host("bp-self0", 1)?;
    let (far, receiver) = host("bp-self1", 2)?;
    sender.connect("198.18.255.2:9000")?;
    receiver.set_read_timeout(Some(Duration::from_millis(100)))?;
    let mut emulator = Emulator::new([near, far], Exit::Other, parts);
    let (stop, stopped) = UnixStream::pair()?;
    let (ran, received) = thread::scope(|scope| {
        let receiving = scope.spawn(|| receive(&receiver, &stopped));
        scope.spawn(move || {
            fill(&sender, rate, span);
            drop(stop);
        });
        (emulator.run(&signals, Some(&stopped)), receiving.join().ok().flatten())
    });
    ran?;
    Ok(SelfTest { rate: received, summary: emulator.summary() })
}

/// A namespace with a TUN device and a socket at its address, 198.18.255.N.
fn host(device: &str, number: u8) -> Result<(Tun, UdpSocket), SelfTestError> {
    // A thread moves into the new namespace; what it opens belongs there.
    let entered = thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET)
                .map_err(|errno| SelfTestError::Namespace(errno.into()))?;
            let tun = Tun::open(device, Offload::None)?;
            let setting = format!(
                "address add 198.18.255.{number}/30 dev {device}\n\
                 link set dev {device} mtu 1500 txqueuelen 5000 up\n"
            );
            run_command("ip", &["-batch", "-"], &setting)?;
            let socket = UdpSocket::bind(format!("198.18.255.{number}:9000"))?;
            Ok::<_, SelfTestError>((tun, socket))
        });
        thread.join()
    });
    entered.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Sends more than `rate` for `span`.
fn fill(sender: &UdpSocket, rate: Rate, span: Duration) {
    let packet = [0; PAYLOAD];
    let per_second = rate.bits_per_sec() as f64 / 8.0 / PACKET as f64 * EXCESS;
    let begin = Instant::now();
    let mut sent = 0;
    while begin.elapsed() < span {
        let due = (begin.elapsed().as_secs_f64() * per_second) as u64 + 1;
        for _ in sent..due {
            // What the kernel does not take is a packet that the link would drop.
            let _ = sender.send(&packet);
        }
        sent = due;
        thread::sleep(TICK);
    }
}

/// The rate at which packets come, until the other end of `stopped` is closed.
fn receive(receiver: &UdpSocket, stopped: &UnixStream) -> Option<Rate> {
    let (mut first, mut last, mut bytes) = (None, None, 0_u64);
    let mut packet = [0; PACKET];
    let ended = || {
        let mut fds = [nix::poll::PollFd::new(
            std::os::fd::AsFd::as_fd(stopped),
            nix::poll::PollFlags::POLLIN,
        )];
        nix::poll::poll(&mut fds, nix::poll::PollTimeout::ZERO) == Ok(1)
    };
    while !ended() {
        if receiver.recv(&mut packet).is_ok() {
            let now = Instant::now();
            match first {
                None => first = Some(now),
                Some(_) => bytes += PACKET as u64,
            }
            last = Some(now);
        }
    }
    let seconds = last?.saturating_duration_since(first?).as_secs_f64();
    let bits = bytes as f64 * 8.0 / seconds;
    bits.is_finite().then(|| Rate::from_bits_per_sec(bits.round() as u64))
}
