//! The private option by which two gateways find each other: an experimental option (RFC 6994) in
//! the SYN and the SYN-ACK, with one byte that tells which options the gateway has added, and
//! whether it takes data before the client has acknowledged the SYN-ACK. What it was told of the
//! link follows, if there is something and room for it ([`ToldLink`]).
//!
//! Where the pair has a [key](PairKey), a [seal](Seal) stands last.
//!
//! A host ignores it. It is sent to, and believed from, the satellite side only. In acknowledgments
//! the same option is a [`Report`].

mod report;
mod seal;
mod told_link;

pub(crate) use report::{Arrivals, ByteCount, Identity, Report, ReportSchedule};
pub(crate) use seal::Seal;
pub use seal::{PairKey, PairKeyError};
pub use told_link::ToldLink;

use bentpipe_core::wire::TcpOptions;

/// The experiment's identifier. Not registered; "bp" in ASCII.
const IDENTIFIER: u16 = 0x6270;

/// A seal stands last. Its sender believes nobody without one, and who has no key does not believe
/// it either: otherwise one of two would hold options for the host's that are the other's.
const SEALED: u8 = 16;

/// Bytes of an announcement's seal: a SYN has no room for more.
const SEAL: usize = 4;

/// What a gateway tells its peer in a SYN or SYN-ACK: which options in it are its own and not
/// the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Announcement {
    pub(crate) window_scale: bool,
    pub(crate) sack: bool,
    pub(crate) timestamps: bool,
    /// In a SYN: what the server says before the client has acknowledged the SYN-ACK may be sent.
    pub(crate) takes_early_data: bool,
}

impl Announcement {
    /// The announcement in `options`, if there is one that we understand, and that has our `seal`
    /// where there is one.
    pub(crate) fn find(options: &TcpOptions, seal: Option<Seal>) -> Option<Announcement> {
        let [bits, ..] = body(options, seal)? else { return None };
        Some(Announcement {
            window_scale: bits & 1 != 0,
            sack: bits & 2 != 0,
            timestamps: bits & 4 != 0,
            takes_early_data: bits & 8 != 0,
        })
    }

    /// What is told of the link in `options`, if they have an announcement to be believed.
    pub(crate) fn told_link(options: &TcpOptions, seal: Option<Seal>) -> ToldLink {
        let told = body(options, seal).and_then(|body| body.get(1..));
        told.map_or(ToldLink::default(), ToldLink::read)
    }

    /// Whether there is an announcement in `options` without our `seal`.
    pub(crate) fn is_foreign(options: &TcpOptions, seal: Option<Seal>) -> bool {
        options.experiment(IDENTIFIER).is_some() && body(options, seal).is_none()
    }

    /// Adds the announcement, and what is told of the `link` if there is room, under the `seal`;
    /// without room for itself nothing happens.
    pub(crate) fn put(self, link: ToldLink, seal: Option<Seal>, options: &mut TcpOptions) -> bool {
        let flags = [self.window_scale, self.sack, self.timestamps, self.takes_early_data];
        let bits = flags.iter().rev().fold(0, |bits, flag| bits << 1 | u8::from(*flag));
        let bits = if seal.is_some() { bits | SEALED } else { bits };
        let mut put = |told: &[u8]| {
            let mut body = [&[bits], told].concat();
            if let Some(seal) = seal {
                body.extend(seal.of::<SEAL>(&body));
            }
            options.add_experiment(IDENTIFIER, &body)
        };
        (!link.is_empty() && put(&link.write())) || put(&[])
    }

    /// Takes the announcement off.
    pub(crate) fn strip(options: &mut TcpOptions) {
        options.remove_experiment(IDENTIFIER);
    }

    /// Whether any option was added.
    pub(crate) fn any(self) -> bool {
        self.window_scale || self.sack || self.timestamps
    }

    /// What `accepted`, of a SYN-ACK, has beyond what `offered`, of a SYN, asked for.
    pub(crate) fn beyond(offered: &TcpOptions, accepted: &TcpOptions) -> Announcement {
        Announcement {
            window_scale: accepted.window_scale.is_some() && offered.window_scale.is_none(),
            sack: accepted.sack_permitted && !offered.sack_permitted,
            timestamps: accepted.timestamps.is_some() && offered.timestamps.is_none(),
            takes_early_data: false,
        }
    }

    /// Which of these options a SYN-ACK with `options` accepts.
    pub(crate) fn accepted(options: &TcpOptions) -> Announcement {
        Announcement::beyond(&TcpOptions::default(), options)
    }

    /// What both have.
    pub(crate) fn and(self, other: Announcement) -> Announcement {
        Announcement {
            window_scale: self.window_scale && other.window_scale,
            sack: self.sack && other.sack,
            timestamps: self.timestamps && other.timestamps,
            takes_early_data: self.takes_early_data && other.takes_early_data,
        }
    }

    /// What `other` does not have.
    pub(crate) fn without(self, other: Announcement) -> Announcement {
        Announcement {
            window_scale: self.window_scale && !other.window_scale,
            sack: self.sack && !other.sack,
            timestamps: self.timestamps && !other.timestamps,
            takes_early_data: self.takes_early_data && !other.takes_early_data,
        }
    }

    /// Takes the added options off, so that the host sees what the other host offered.
    pub(crate) fn take_off(self, options: &mut TcpOptions) {
        if self.window_scale {
            options.window_scale = None;
        }
        if self.sack {
            options.sack_permitted = false;
        }
        if self.timestamps {
            options.timestamps = None;
        }
    }
}

/// The body of the announcement in `options`, if it is to be believed: with a key what is
/// sealed by it, and without one what is not sealed.
fn body(options: &TcpOptions, seal: Option<Seal>) -> Option<&[u8]> {
    let body = options.experiment(IDENTIFIER)?;
    match seal {
        None => Some(body).filter(|body| body.first().is_none_or(|bits| bits & SEALED == 0)),
        Some(seal) => seal.open::<SEAL>(body),
    }
}
