//! Whose timestamps count: what one end of a connection has had of the other one's (RFC 7323), as
//! far as an onlooker can tell.

use crate::fuzz::clocks::is_older;
use crate::world::Segment;
use bentpipe_core::wire::{Flags, SeqNum, Timestamps};

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Stamps {
    /// TS.Recent (4.3).
    recent: Option<u32>,
    /// The other end's segments bear timestamps.
    pub(super) borne: bool,
    /// What a SYN-ACK acknowledged that has not accepted the SYN's timestamps. Copies of that SYN
    /// are still on their way (fault seed 118778327).
    refused: Option<SeqNum>,
}

impl Stamps {
    /// A SYN-ACK without timestamps, which acknowledges `ack`, has come.
    pub(super) fn refuse(&mut self, ack: SeqNum) {
        *self = Stamps { refused: Some(ack), ..Stamps::default() };
    }

    /// Another segment of the other end has come.
    pub(super) fn note(&mut self, segment: &Segment, in_order: bool) {
        let Segment { flags, seq, timestamps, .. } = *segment;
        let is_syn = flags.contains(Flags::SYN);
        if is_syn && self.refused == Some(seq + 1) {
            return;
        }
        if let Some(Timestamps { value, .. }) = timestamps
            && (in_order || is_syn)
            && self.recent.is_none_or(|recent| is_older(recent, value))
        {
            self.recent = Some(value);
        }
        self.borne |= timestamps.is_some();
    }

    /// Whether a segment with these looks older than what has come in order (5.3). Where others
    /// came with a timestamp, one without is dropped (3.2; fault seed 97335731).
    pub(super) fn make_old(&self, timestamps: Option<Timestamps>) -> bool {
        match timestamps {
            None => self.borne,
            Some(stamps) => self.recent.is_some_and(|recent| is_older(stamps.value, recent)),
        }
    }

    /// Something may have come on another path.
    pub(super) fn lose_sight(&mut self) {
        self.recent = None;
    }
}
