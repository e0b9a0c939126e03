//! Pings: at an interval, or as a flood (`ping -f`: when an echo is back, or 10 ms after the last
//! one). A transfer is a ping, from its request to its echo.

use super::meter::FlowMeter;
use super::socket::{address, fd};
use crate::icmp_echo::{HEADER, read_reply, write_request};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_scenario::PingPace;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use socket2::Socket;
use std::collections::BTreeMap;
use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;

/// IPv4 and ICMP headers.
const HEADERS: u64 = 28;
/// What a flood waits for at most.
const FLOOD: Duration = Duration::from_millis(10);
/// How long the last echo is awaited (iputils' ping: 10 s).
const LINGER: Duration = Duration::from_secs(10);
/// How long it takes at most to notice that all is over.
const LOOK: Duration = Duration::from_millis(50);

/// What is sent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Settings {
    pub(super) to: Ipv4Addr,
    /// IP length of each.
    pub(super) packet: u64,
    pub(super) pace: PingPace,
    /// How many; None: as long as the flow lasts.
    pub(super) packets: Option<u64>,
    /// Tells its echoes from other flows'.
    pub(super) identifier: u16,
}

/// Pings as `plan` says, until it is done or all is over.
///
/// # Errors
/// The socket fails.
pub(super) fn run(meter: &Arc<FlowMeter>, socket: &Socket, plan: &Settings) -> io::Result<()> {
    let mut packet = vec![0; HEADER.max(plan.packet.saturating_sub(20) as usize)];
    let mut unanswered: BTreeMap<u16, usize> = BTreeMap::new();
    let (mut sent, mut next) = (0_u64, meter.now());
    loop {
        if meter.is_stopped() {
            return Ok(());
        }
        let now = meter.now();
        let all = plan.packets.is_some_and(|packets| sent >= packets);
        // Once all are sent, `next` is until when the last echo is awaited.
        if now >= next || (all && unanswered.is_empty()) {
            if all {
                meter.finish();
                return Ok(());
            }
            let sequence = sent as u16;
            sent += 1;
            write_request(&mut packet, plan.identifier, sequence);
            meter.pinged();
            unanswered.insert(sequence, meter.transfer());
            // What the kernel does not take is lost, as it would be in a queue.
            let _ = socket.send_to(&packet, &address(plan.to, 0));
            next = match plan.pace {
                _ if plan.packets == Some(sent) => now + LINGER,
                PingPace::Every(interval) => next.max(now) + interval,
                PingPace::Flood => now + FLOOD,
            };
        }
        while let Some(sequence) = echo(socket, plan, next.min(meter.now() + LOOK), meter)? {
            let Some(transfer) = unanswered.remove(&sequence) else { continue };
            meter.complete(transfer, plan.packet.saturating_sub(HEADERS));
            meter.answered();
            let all = plan.packets.is_some_and(|packets| sent >= packets);
            if plan.pace == PingPace::Flood && !all {
                next = meter.now();
            }
            break;
        }
    }
}

/// The sequence number of an echo that comes before `deadline`.
fn echo(
    socket: &Socket,
    plan: &Settings,
    deadline: Instant,
    meter: &FlowMeter,
) -> io::Result<Option<u16>> {
    let mut buffer = [0; 128];
    loop {
        let left = deadline.saturating_since(meter.now());
        let mut fds = [PollFd::new(fd(socket), PollFlags::POLLIN)];
        if ppoll(&mut fds, Some(TimeSpec::from(left)), None)? == 0 {
            return Ok(None);
        }
        let read = {
            use std::io::Read;
            let mut reader: &Socket = socket;
            reader.read(&mut buffer)?
        };
        if let Some(sequence) = read_reply(&buffer[..read], plan.identifier) {
            return Ok(Some(sequence));
        }
    }
}
