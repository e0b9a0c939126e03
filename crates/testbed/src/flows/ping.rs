//! Pings: at an interval, or as a flood (`ping -f`: when an echo is back, or 10 ms after the last
//! one). A transfer is a ping, from its request to its echo.

use super::meter::FlowMeter;
use super::socket::{address, fd};
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
const ICMP_HEADER: usize = 8;
/// What a flood waits for at most.
const FLOOD: Duration = Duration::from_millis(10);
/// How long the last echo is awaited (iputils' ping: 10 s).
const LINGER: Duration = Duration::from_secs(10);
/// How long it takes at most to notice that all is over.
const LOOK: Duration = Duration::from_millis(50);

const ECHO_REQUEST: u8 = 8;
const ECHO_REPLY: u8 = 0;

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
    let mut packet = vec![0; ICMP_HEADER.max(plan.packet.saturating_sub(20) as usize)];
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

fn write_request(packet: &mut [u8], identifier: u16, sequence: u16) {
    packet[..2].copy_from_slice(&[ECHO_REQUEST, 0]);
    packet[2..4].fill(0);
    packet[4..6].copy_from_slice(&identifier.to_be_bytes());
    packet[6..8].copy_from_slice(&sequence.to_be_bytes());
    let sum = checksum(packet);
    packet[2..4].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word.get(1).copied().unwrap_or(0)])));
    let sum: u64 = words.map(u64::from).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    let folded = (folded & 0xffff) + (folded >> 16);
    !(folded as u16)
}

/// The sequence number of an echo with this identifier, in a packet with its IPv4 header.
fn read_reply(packet: &[u8], identifier: u16) -> Option<u16> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let icmp = packet.get(header..header + ICMP_HEADER)?;
    let ours = icmp[0] == ECHO_REPLY && icmp[4..6] == identifier.to_be_bytes();
    ours.then(|| u16::from_be_bytes([icmp[6], icmp[7]]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_echo_is_told_from_other_packets() {
        let mut packet = vec![0; 56];
        write_request(&mut packet, 7, 258);
        assert_eq!(checksum(&packet), 0, "its own checksum is in it");
        let mut reply = vec![0x45; 20];
        reply.extend(&packet);
        assert_eq!(read_reply(&reply, 7), None, "a request is no reply");
        reply[20] = ECHO_REPLY;
        assert_eq!(read_reply(&reply, 7), Some(258));
        assert_eq!(read_reply(&reply, 8), None);
        for length in 0..28 {
            assert_eq!(read_reply(&reply[..length], 7), None);
        }
    }
}
