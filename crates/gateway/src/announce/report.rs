//! A gateway's identity in pure acknowledgments: by it the peer gateway tells remotes apart.
//!
//! The option is that of the announcement. Its body is a version and four bytes, random for each
//! boot. Of another version nothing is read, and what follows the four bytes is ignored.
//!
//! It is never in a SYN: hosts without a gateway would see a number by which this one can be
//! tracked. It is in no segment with data, and in three acknowledgments of a flow at most, of which
//! no two follow each other. So a middlebox that drops segments with unknown options delays a flow,
//! and stalls none.
//!
//! The receiving gateway takes it off. Of a connection that it only forwards (a release, a flow
//! that a restart has lost), a host may see one of the three. It ignores unknown options (RFC 9293,
//! 3.1).

use super::IDENTIFIER;
use bentpipe_core::wire::TcpOptions;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Of the option's body.
const VERSION: u8 = 1;

/// Reports of one leg.
const REPORTS: u8 = 3;

/// A gateway's name towards its peers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Identity(NonZeroU32);

impl Identity {
    /// Stands for all gateways behind one carrier.
    pub(crate) const OF_CARRIER: Identity = Identity(NonZeroU32::MAX);

    /// The identity of these bits; none, if all are zero.
    pub(crate) fn new(bits: u32) -> Option<Identity> {
        NonZeroU32::new(bits).map(Identity)
    }
}

/// A gateway's report to its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// Its sender.
    pub(crate) identity: Identity,
}

impl Report {
    /// The report in `options`, if there is one that we understand.
    pub(crate) fn find(options: &TcpOptions) -> Option<Report> {
        let [VERSION, a, b, c, d, ..] = *options.experiment(IDENTIFIER)? else { return None };
        Identity::new(u32::from_be_bytes([a, b, c, d])).map(|identity| Report { identity })
    }

    /// Takes reports off, those of other versions as well. False if there is none.
    pub(crate) fn strip(options: &mut TcpOptions) -> bool {
        let reports = options.experiment(IDENTIFIER).is_some();
        if reports {
            options.remove_experiment(IDENTIFIER);
        }
        reports
    }

    /// Adds the report; false if there is no room. Older SACK blocks than the newest make room for
    /// it: they repeat what earlier acknowledgments have said (RFC 2018, 4).
    fn put(self, options: &mut TcpOptions) -> bool {
        let [a, b, c, d] = self.identity.0.get().to_be_bytes();
        options.sack.truncate(1);
        options.add_experiment(IDENTIFIER, &[VERSION, a, b, c, d])
    }
}

/// A leg's reports that are still to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReportSchedule {
    left: u8,
    /// The latest pure acknowledgment had one.
    just_reported: bool,
}

impl ReportSchedule {
    /// All of them.
    pub(crate) fn new() -> ReportSchedule {
        ReportSchedule { left: REPORTS, just_reported: false }
    }

    /// Adds the report to the options of the next acknowledgment, where one is due and has room.
    pub(crate) fn report(&mut self, report: Report, options: &mut TcpOptions) {
        let due = self.left > 0 && !self.just_reported;
        self.just_reported = due && report.put(options);
        self.left -= u8::from(self.just_reported);
    }

    /// An acknowledgment leaves without a report.
    pub(crate) fn pass(&mut self) {
        self.just_reported = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::wire::{SackBlock, SeqNum, Timestamps};

    fn report() -> Report {
        Report { identity: Identity::new(0xdead_beef).unwrap() }
    }

    /// An acknowledgment's options, with so many SACK blocks.
    fn options(blocks: usize) -> TcpOptions {
        let block = |number| SackBlock { left: SeqNum(number), right: SeqNum(number + 1) };
        TcpOptions {
            timestamps: Some(Timestamps { value: 1, echo: 2 }),
            sack: (0..blocks).map(|number| block(10 * number as u32)).collect(),
            ..TcpOptions::default()
        }
    }

    #[test]
    fn an_identity_is_reported_as_it_is_and_taken_off() {
        let mut reported = options(1);
        assert!(report().put(&mut reported) && reported.fits());
        assert_eq!(Report::find(&reported), Some(report()));
        assert!(Report::strip(&mut reported));
        assert_eq!(reported, options(1));
        assert!(!Report::strip(&mut reported));
    }

    #[test]
    fn another_version_and_no_identity_report_nothing_and_more_behind_it_the_same() {
        for (body, expected) in [
            (&[VERSION, 0xde, 0xad, 0xbe, 0xef, 7, 7][..], Some(report())),
            (&[VERSION + 1, 0xde, 0xad, 0xbe, 0xef], None),
            (&[VERSION, 0, 0, 0, 0], None),
            (&[VERSION, 0xde, 0xad, 0xbe], None),
            (&[], None),
        ] {
            let mut options = options(0);
            assert!(options.add_experiment(IDENTIFIER, body));
            assert_eq!(Report::find(&options), expected, "{body:?}");
            assert!(Report::strip(&mut options), "{body:?}");
        }
    }

    /// Whether each of these acknowledgments, with so many SACK blocks, has a report.
    fn reports(blocks: &[usize]) -> Vec<bool> {
        let mut schedule = ReportSchedule::new();
        let mut reports = |blocks: &usize| {
            let mut options = options(*blocks);
            schedule.report(report(), &mut options);
            Report::find(&options).is_some()
        };
        blocks.iter().map(&mut reports).collect()
    }

    #[test]
    fn three_are_sent_and_never_two_in_a_row() {
        let [yes, no] = [true, false];
        assert_eq!(reports(&[0; 8]), [yes, no, yes, no, yes, no, no, no]);
        // It takes the room of older SACK blocks.
        assert_eq!(reports(&[2, 3, 4, 1, 0]), [yes, no, yes, no, yes]);
    }
}
