//! Explicit congestion notification (RFC 3168): what both halves of a connection remember of it.
//!
//! Data that is sent for the first time says that it may be marked instead of dropped. A receiver
//! that sees a mark echoes it (ECE) until the sender says that it has reduced its window (CWR),
//! which it does once for each window of data. Whether to speak ECN at all is agreed on in the
//! handshake.

use crate::units::Offset;
use crate::wire::{Flags, TcpHeader};
use serde::{Deserialize, Serialize};

/// The ECN field of an IP header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ecn {
    /// Not-ECT: congestion is told by dropping the packet.
    #[default]
    NotCapable,
    /// ECT(0): congestion may be told by a mark.
    Capable0,
    /// ECT(1).
    Capable1,
    /// CE: congestion was experienced.
    Experienced,
}

impl Ecn {
    /// The field's two bits.
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotCapable => 0b00,
            Ecn::Capable1 => 0b01,
            Ecn::Capable0 => 0b10,
            Ecn::Experienced => 0b11,
        }
    }

    /// The field of a traffic class (DSCP and ECN).
    pub const fn of(traffic_class: u8) -> Ecn {
        match traffic_class & 0b11 {
            0b00 => Ecn::NotCapable,
            0b01 => Ecn::Capable1,
            0b10 => Ecn::Capable0,
            _ => Ecn::Experienced,
        }
    }
}

/// What a connection that has agreed on ECN remembers.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct EcnState {
    /// The packet of the next segment bore CE.
    marked: bool,
    /// Acknowledgments carry ECE.
    echo: bool,
    /// The window was reduced: the next new data carries CWR.
    reduced: bool,
    /// Echoes that acknowledge less belong to the window of data that was reduced for already.
    answer_from: Offset,
}

impl EcnState {
    pub(super) fn mark(&mut self) {
        self.marked = true;
    }

    pub(super) fn take_mark(&mut self) -> bool {
        std::mem::take(&mut self.marked)
    }

    /// Takes an acceptable segment, with or without data, whose packet was marked or not. True if
    /// it reports congestion that is to be answered.
    pub(super) fn on_segment(
        &mut self,
        tcp: &TcpHeader,
        data: bool,
        marked: bool,
        snd_una: Offset,
    ) -> bool {
        // RFC 3168, 6.1.3: CWR ends the echo, and a mark on the same packet begins it anew.
        if tcp.has(Flags::CWR) {
            self.echo = false;
        }
        self.echo |= marked && data;
        tcp.has(Flags::ECE) && snd_una >= self.answer_from
    }

    /// The window was reduced while `snd_nxt` was the next offset to be sent.
    pub(super) fn reduced(&mut self, snd_nxt: Offset) {
        self.reduced = true;
        self.answer_from = snd_nxt;
    }

    /// Whether this new data is the first since the window was reduced.
    pub(super) fn take_reduced(&mut self) -> bool {
        std::mem::take(&mut self.reduced)
    }

    /// Whether what is sent now echoes a mark.
    pub(super) fn echoes(&self) -> bool {
        self.echo
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(flags: Flags) -> TcpHeader {
        TcpHeader { flags: flags | Flags::ACK, ..TcpHeader::default() }
    }

    #[test]
    fn the_field_is_read_and_written() {
        for ecn in [Ecn::NotCapable, Ecn::Capable0, Ecn::Capable1, Ecn::Experienced] {
            assert_eq!(Ecn::of(0b1011_1000 | ecn.bits()), ecn);
        }
    }

    #[test]
    fn a_mark_is_echoed_until_the_window_was_reduced() {
        let mut state = EcnState::default();
        // A mark on a bare acknowledgment means nothing.
        assert!(!state.on_segment(&segment(Flags::ACK), false, true, Offset::FIRST));
        assert!(!state.echoes());
        state.on_segment(&segment(Flags::ACK), true, true, Offset::FIRST);
        state.on_segment(&segment(Flags::ACK), true, false, Offset::FIRST);
        assert!(state.echoes());
        state.on_segment(&segment(Flags::CWR), true, true, Offset::FIRST);
        assert!(state.echoes(), "marked again");
        state.on_segment(&segment(Flags::CWR), true, false, Offset::FIRST);
        assert!(!state.echoes());
    }

    #[test]
    fn an_echo_is_answered_once_for_a_window_of_data() {
        let mut state = EcnState::default();
        assert!(state.on_segment(&segment(Flags::ECE), false, false, Offset::new(100)));
        state.reduced(Offset::new(500));
        assert!(!state.on_segment(&segment(Flags::ECE), false, false, Offset::new(499)));
        assert!(state.take_reduced() && !state.take_reduced());
        assert!(state.on_segment(&segment(Flags::ECE), false, false, Offset::new(500)));
    }
}
