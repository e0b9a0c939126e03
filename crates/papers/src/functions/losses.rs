//! Episodes of loss, as the packets show them.

use crate::run::packets::{Packet, Packets};
use crate::run::{Part, PointRuns};
use bentpipe_core::tcp::cause::Cause;

/// Losses of one window, and how they were repaired.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Episode {
    /// Packets that were lost of those sent before the loss was seen.
    pub(super) lost: usize,
    /// The timer expired before all of them were acknowledged.
    pub(super) timeout: bool,
}

/// All episodes of the transfer from `server` to `client`.
pub(super) fn episodes(part: &Part, point: &PointRuns, run: u32) -> Result<Vec<Episode>, String> {
    Ok(of(&Packets::new(part, point, run, ("server", "client"))?))
}

fn of(packets: &Packets) -> Vec<Episode> {
    let mut episodes = Vec::new();
    let mut from = 0;
    while let Some(first) = next_loss(&packets.sent, from) {
        let lost = &packets.sent[first];
        // It is seen when it is repaired.
        let later = packets.sent.iter().enumerate().skip(first + 1);
        let Some((seen, _)) = later.clone().find(|(_, packet)| packet.seq == lost.seq) else {
            break;
        };
        let window = &packets.sent[first..seen];
        let edge = window.iter().map(|packet| packet.seq + packet.len).max().unwrap_or_default();
        let at = packets.sent[seen].at;
        let whole = packets.acknowledged.iter().find(|(when, next)| *when >= at && *next >= edge);
        let end = whole.map_or(f64::INFINITY, |(when, _)| *when);
        let during = later.skip_while(|(index, _)| *index < seen);
        let during = during.take_while(|(_, packet)| packet.at <= end);
        let timeout = during.clone().any(|(_, packet)| packet.cause == Some(Cause::Timeout));
        from = during.last().map_or(seen, |(index, _)| index) + 1;
        let lost = window.iter().filter(|packet| packet.arrived.is_none()).count();
        episodes.push(Episode { lost, timeout });
    }
    episodes
}

fn next_loss(sent: &[Packet], from: usize) -> Option<usize> {
    sent.iter().skip(from).position(|packet| packet.arrived.is_none()).map(|index| index + from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(at: f64, seq: u64, cause: Cause, arrived: bool) -> Packet {
        let (retransmitted, arrived) = (cause != Cause::AckClock, arrived.then_some(at + 0.3));
        Packet { at, seq, len: 10, retransmitted, cause: Some(cause), arrived }
    }

    #[test]
    fn losses_of_a_window_are_one_episode() {
        let packets = Packets {
            sent: vec![
                packet(0.0, 0, Cause::AckClock, false),
                packet(0.1, 10, Cause::AckClock, true),
                packet(0.2, 20, Cause::AckClock, false),
                packet(1.0, 0, Cause::FastRetransmit, true),
                packet(3.0, 20, Cause::Timeout, true),
                packet(5.0, 30, Cause::AckClock, false),
                packet(6.0, 30, Cause::FastRetransmit, true),
            ],
            acknowledged: vec![(1.5, 20), (3.5, 30), (6.5, 40)],
            duplicates: 0,
        };
        let first = Episode { lost: 2, timeout: true };
        assert_eq!(of(&packets), [first, Episode { lost: 1, timeout: false }]);
    }
}
