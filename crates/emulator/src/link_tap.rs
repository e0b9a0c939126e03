//! What a recording takes down of a link: packets that come in, leave or vanish, and queues.

use crate::datagram::Datagram;
use crate::drop_notice::{DropNotice, DroppedPacket, DroppedPackets};
use crate::duplex_link::DuplexLink;
use crate::recording::{RecordedPacket, Recording, RecordingSummary, TapPoint};
use bentpipe_core::time::Instant;
use bentpipe_links::Direction;
use std::time::{SystemTime, UNIX_EPOCH};

/// The tap on both directions of a link.
#[derive(Debug)]
pub(crate) struct LinkTap {
    recording: Recording,
    /// Nanoseconds since Unix's epoch, when the link's clock read zero.
    epoch: u64,
    numbered: u64,
    /// What the queues have dropped, by direction.
    vanished: [DroppedPackets; 2],
}

impl LinkTap {
    /// Of a link whose clock reads `now`.
    pub(crate) fn new(recording: Recording, now: Instant) -> LinkTap {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let nanos = u64::try_from(since.as_nanos()).unwrap_or(u64::MAX);
        let epoch = nanos.saturating_sub(now.as_nanos());
        LinkTap { recording, epoch, numbered: 0, vanished: Default::default() }
    }

    /// Offers `packet`, which came in at end `side`, to its direction.
    pub(crate) fn push(
        &mut self,
        side: usize,
        now: Instant,
        link: &mut DuplexLink,
        mut packet: Datagram,
    ) {
        link.advance(now);
        let direction = &mut link.both_mut()[side];
        direction.advance(now);
        let queued = direction.link().queued();
        self.tell_missing(side, now, direction);
        let number = self.numbered;
        self.numbered += 1;
        let (bytes, len) = (self.recording.part(&packet.ip.bytes).to_vec(), packet.ip.bytes.len());
        let noted = DroppedPacket { number, bytes: bytes.clone(), len };
        packet.ticket = Some(DropNotice::new(noted, &self.vanished[side]));
        link.push(side, now, packet);
        let gone = self.vanished[side].take();
        let (itself, others): (Vec<_>, Vec<_>) =
            gone.into_iter().partition(|packet| packet.number == number);
        let drop = if itself.is_empty() { "" } else { "dropped by the queue; " };
        let comment = format!("{drop}queue: {} packets, {} bytes", queued.packets, queued.bytes);
        self.add(TapPoint::Entry(side), now, bytes, len, comment);
        self.tell_dropped(now, others);
        self.tell_lost(now, &mut link.both_mut()[side]);
    }

    /// `packet` leaves the direction that it entered at end `side`.
    pub(crate) fn left(&mut self, side: usize, now: Instant, packet: &mut Datagram) {
        // Of two that are the same only one has a ticket.
        let ticket = packet.ticket.take();
        let comment = ticket.as_ref().map_or("a duplicate", |ticket| ticket.note);
        ticket.and_then(DropNotice::redeem);
        let bytes = self.recording.part(&packet.ip.bytes).to_vec();
        self.add(TapPoint::Exit(1 - side), now, bytes, packet.ip.bytes.len(), comment.to_owned());
    }

    /// What the direction's queue and line have let go of without anything coming in.
    pub(crate) fn tell_missing(
        &mut self,
        side: usize,
        now: Instant,
        direction: &mut Direction<Datagram>,
    ) {
        let gone = self.vanished[side].take();
        self.tell_dropped(now, gone);
        self.tell_lost(now, direction);
    }

    /// Ends the recording.
    pub(crate) fn end(self) -> RecordingSummary {
        self.recording.end()
    }

    fn tell_dropped(&mut self, now: Instant, gone: Vec<DroppedPacket>) {
        for DroppedPacket { bytes, len, .. } in gone {
            self.add(TapPoint::Lost, now, bytes, len, "dropped by the queue".to_owned());
        }
    }

    fn tell_lost(&mut self, now: Instant, direction: &mut Direction<Datagram>) {
        while let Some(packet) = direction.take_lost() {
            if let Some(DroppedPacket { bytes, len, .. }) =
                packet.ticket.and_then(DropNotice::redeem)
            {
                self.add(TapPoint::Lost, now, bytes, len, "lost on the line".to_owned());
            }
        }
    }

    fn add(&mut self, point: TapPoint, now: Instant, bytes: Vec<u8>, len: usize, comment: String) {
        let at = self.epoch + now.as_nanos();
        self.recording.add(RecordedPacket { point, at, bytes, len, comment });
    }
}
