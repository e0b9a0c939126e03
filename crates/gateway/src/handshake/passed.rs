//! A SYN or SYN-ACK that was forwarded as its host sent it: what it offers or accepts, in few
//! bytes.
//!
//! Any copy of a SYN may be the one that is answered. What the copies offer is put together, as the
//! SYN-ACK says what of it was accepted. Copies that contradict each other tell nothing.

use bentpipe_core::wire::{Flags, SeqNum, TcpHeader, TcpOptions, Timestamps};

/// What a leg is made from later. Ports are in the connection's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct PassedSyn {
    isn: SeqNum,
    /// The least and the largest that copies promised.
    windows: [u16; 2],
    mss: Option<u16>,
    shift: Option<u8>,
    sack: bool,
    stamped: bool,
}

impl PassedSyn {
    /// Of the first copy. None if it has options that a leg could not keep.
    pub(crate) fn of(tcp: &TcpHeader) -> Option<PassedSyn> {
        let options = &tcp.options;
        (options.other.is_empty() && !options.has_counts()).then_some(PassedSyn {
            isn: tcp.seq,
            windows: [tcp.window; 2],
            mss: options.mss,
            shift: options.window_scale,
            sack: options.sack_permitted,
            stamped: options.timestamps.is_some(),
        })
    }

    /// As a record or a flow has it, which do not know the window that it promised: that counts no
    /// longer.
    pub(crate) fn known(
        isn: SeqNum,
        mss: Option<u16>,
        shift: Option<u8>,
        [sack, stamped]: [bool; 2],
    ) -> PassedSyn {
        PassedSyn { isn, windows: [0; 2], mss, shift, sack, stamped }
    }

    /// What [`PassedSyn::known`] makes it from, but for the sequence number.
    pub(crate) fn options(self) -> (Option<u16>, Option<u8>, [bool; 2]) {
        (self.mss, self.shift, [self.sack, self.stamped])
    }

    /// The host's initial sequence number.
    pub(crate) fn isn(self) -> SeqNum {
        self.isn
    }

    /// The window that each copy promised at least, which is not scaled.
    pub(crate) fn window(self) -> u16 {
        self.windows[0]
    }

    /// The largest window that a copy promised.
    pub(crate) fn widest_window(self) -> u16 {
        self.windows[1]
    }

    /// Whether it has timestamps.
    pub(crate) fn stamped(self) -> bool {
        self.stamped
    }

    /// What this and another copy of a SYN offer. None if they contradict each other, or are of two
    /// connections.
    pub(crate) fn or(self, copy: PassedSyn) -> Option<PassedSyn> {
        let one_shift = self.shift.is_none() || copy.shift.is_none() || self.shift == copy.shift;
        (self.isn == copy.isn && one_shift).then_some(PassedSyn {
            isn: self.isn,
            windows: [self.windows[0].min(copy.windows[0]), self.windows[1].max(copy.windows[1])],
            // Without the option it is 536 (RFC 9293, 3.7.1).
            mss: self.mss.zip(copy.mss).map(|(one, other)| one.min(other)),
            shift: self.shift.or(copy.shift),
            sack: self.sack || copy.sack,
            stamped: self.stamped || copy.stamped,
        })
    }

    /// Whether another copy of a SYN-ACK says the same.
    pub(crate) fn is_repeated_by(self, copy: PassedSyn) -> bool {
        PassedSyn { windows: self.windows, ..copy } == self
    }

    /// Whether it may answer `syn`: it accepts nothing else than that offers.
    pub(crate) fn answers(self, syn: PassedSyn) -> bool {
        (syn.shift.is_some() || self.shift.is_none())
            && (syn.sack || !self.sack)
            && (syn.stamped || !self.stamped)
    }

    /// The shift of the windows in this host's segments, if the other one's SYN is `other`.
    pub(crate) fn shift(self, other: PassedSyn) -> u8 {
        self.shift.filter(|_| other.shift.is_some()).unwrap_or(0)
    }

    /// The segment as it was, with this TSval if it had one.
    pub(crate) fn header(
        self,
        flags: Flags,
        [src_port, dst_port]: [u16; 2],
        stamp: u32,
    ) -> TcpHeader {
        TcpHeader {
            src_port,
            dst_port,
            seq: self.isn,
            flags,
            window: self.window(),
            options: TcpOptions {
                mss: self.mss,
                window_scale: self.shift,
                sack_permitted: self.sack,
                timestamps: self.stamped.then_some(Timestamps { value: stamp, echo: 0 }),
                ..TcpOptions::default()
            },
            ..TcpHeader::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn syn(options: TcpOptions) -> PassedSyn {
        let tcp = TcpHeader { seq: SeqNum(7), window: 4_000, options, ..TcpHeader::default() };
        PassedSyn::of(&tcp).expect("nothing unknown")
    }

    fn full() -> TcpOptions {
        TcpOptions {
            mss: Some(1460),
            window_scale: Some(7),
            sack_permitted: true,
            timestamps: Some(Timestamps { value: 9, echo: 0 }),
            ..TcpOptions::default()
        }
    }

    #[test]
    fn copies_of_a_syn_offer_what_any_of_them_does() {
        let bare = syn(TcpOptions { mss: Some(1400), ..TcpOptions::default() });
        let both = syn(full()).or(bare).expect("no contradiction");
        assert_eq!(
            (both.mss, both.shift, both.sack, both.stamped),
            (Some(1400), Some(7), true, true)
        );
        assert_eq!(bare.or(syn(full())), Some(both));
        assert_eq!(syn(TcpOptions::default()).or(bare).map(|both| both.mss), Some(None));
        let other_shift = syn(TcpOptions { window_scale: Some(8), ..full() });
        assert_eq!(syn(full()).or(other_shift), None);
        let other = PassedSyn { isn: SeqNum(8), ..bare };
        assert_eq!(bare.or(other), None);
    }

    #[test]
    fn what_any_copy_promises_stands() {
        let narrow = PassedSyn { windows: [2_000; 2], ..syn(full()) };
        for both in [narrow.or(syn(full())), syn(full()).or(narrow)] {
            let both = both.expect("no contradiction");
            assert_eq!((both.window(), both.widest_window()), (2_000, 4_000));
            assert!(both.is_repeated_by(narrow));
        }
    }

    #[test]
    fn an_answer_accepts_what_was_offered() {
        let bare = syn(TcpOptions::default());
        assert!(bare.answers(syn(full())) && syn(full()).answers(syn(full())));
        for accepted in [
            TcpOptions { window_scale: Some(0), ..TcpOptions::default() },
            TcpOptions { sack_permitted: true, ..TcpOptions::default() },
            TcpOptions { timestamps: full().timestamps, ..TcpOptions::default() },
        ] {
            assert!(!syn(accepted).answers(bare));
        }
        assert_eq!((syn(full()).shift(syn(full())), syn(full()).shift(bare)), (7, 0));
    }

    #[test]
    fn what_a_leg_cannot_keep_is_not_kept() {
        let unknown = TcpOptions { other: vec![30, 4, 0, 0], ..full() };
        assert_eq!(PassedSyn::of(&TcpHeader { options: unknown, ..TcpHeader::default() }), None);
        let counts = TcpOptions { cc: Some(1), ..full() };
        assert_eq!(PassedSyn::of(&TcpHeader { options: counts, ..TcpHeader::default() }), None);
        let header = syn(full()).header(Flags::SYN, [1, 2], 9);
        assert_eq!((header.options, header.window, header.dst_port), (full(), 4_000, 2));
    }
}
