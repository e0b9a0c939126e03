//! A gateway's report in pure acknowledgments: who it is, and what has arrived.
//!
//! By its identity the peer gateway tells remotes apart. The option is that of the announcement.
//! Its body begins with a version in four bits and the number of a count in four. The identity
//! follows in four bytes, random for each boot. The [arrivals](Arrivals) have seven, where there
//! are any. So it has room next to timestamps and a SACK block. Of another version nothing is read,
//! and bytes behind these are ignored.
//!
//! Where the pair has a key, some reports have a version of their own, and a [`Seal`] of seven
//! bytes. It has the room of the arrivals. Behind the first of these, others of the same connection
//! are believed.
//!
//! It is never in a SYN: hosts without a gateway would see a number by which this one can be
//! tracked. It is in no segment with data, and of a flow's acknowledgments no two that follow each
//! other have one. So a middlebox that drops segments with unknown options delays a flow, and
//! stalls none. Three of a flow's have the identity in any case, others with arrivals alone.
//!
//! The receiving gateway takes it off. Of a connection that it only forwards (a release, a flow
//! that a restart has lost), a host may see one. It ignores unknown options (RFC 9293, 3.1).

use super::{IDENTIFIER, Seal};
use bentpipe_core::wire::TcpOptions;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;

/// Of the option's body.
const VERSION: u8 = 1;

/// The same, where a seal stands behind the identity.
const SEALED_VERSION: u8 = 2;

/// Bytes of the seal: with timestamps and a SACK block there is room for as many.
const SEAL: usize = 7;

/// Reports of one leg, whatever arrives.
const REPORTS: u8 = 3;

/// One report in so many has a seal, once those are sent that are sent whatever arrives: they may
/// have been lost.
const SEALED_ONE_IN: u8 = 16;

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

    /// Its bits.
    pub(crate) fn bits(self) -> u32 {
        self.0.get()
    }
}

/// What of a peer's data has arrived, by the clock of who reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrivals {
    /// Which flows are counted together: with another number it is another count. Below 16.
    pub(crate) count: u8,
    /// When the latest has, in microseconds that wrap.
    pub(crate) micros: u32,
    /// How much has: bytes of payload, copies among them.
    pub(crate) bytes: ByteCount,
}

/// A count of bytes that wraps, with a grain of 16.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByteCount(u32);

impl ByteCount {
    const GRAIN: u64 = 16;
    const BITS: u32 = 24;

    /// Of so many bytes in all.
    pub(crate) fn of(bytes: u64) -> ByteCount {
        ByteCount((bytes / Self::GRAIN) as u32 & ((1 << Self::BITS) - 1))
    }

    /// Bytes from an earlier count to this one; None if it is no later one.
    pub(crate) fn since(self, earlier: ByteCount) -> Option<u64> {
        let grains = self.0.wrapping_sub(earlier.0) & ((1 << Self::BITS) - 1);
        (grains >> (Self::BITS - 1) == 0).then_some(u64::from(grains) * Self::GRAIN)
    }
}

/// A gateway's report to its peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Report {
    /// Its sender.
    pub(crate) identity: Identity,
    /// What has arrived there from the peer.
    pub(crate) arrivals: Option<Arrivals>,
    /// Shows that the sender has the pair's key.
    seal: Option<[u8; SEAL]>,
}

impl Report {
    /// A report of this gateway.
    pub(crate) fn of(identity: Identity) -> Report {
        Report { identity, arrivals: None, seal: None }
    }

    /// The same with what has arrived, if anything.
    pub(crate) fn with(self, arrivals: Option<Arrivals>) -> Report {
        Report { arrivals, ..self }
    }

    /// The same with a seal, which has the room of the arrivals.
    fn sealed(self, seal: Seal) -> Report {
        Report { arrivals: None, seal: Some(seal.of(&self.sealed_text())), ..self }
    }

    /// What a seal is of.
    fn sealed_text(self) -> [u8; 5] {
        let [a, b, c, d] = self.identity.bits().to_be_bytes();
        [SEALED_VERSION, a, b, c, d]
    }

    /// Whether it has this seal.
    pub(crate) fn is_sealed_by(self, seal: Seal) -> bool {
        self.seal == Some(seal.of(&self.sealed_text()))
    }

    /// The report in `options`, if there is one that we understand.
    pub(crate) fn find(options: &TcpOptions) -> Option<Report> {
        let (&head, body) = options.experiment(IDENTIFIER)?.split_first()?;
        let (identity, body) = body.split_first_chunk()?;
        let report = Report::of(Identity::new(u32::from_be_bytes(*identity))?);
        match (head & 0xf, body) {
            (VERSION, &[a, b, c, d, e, f, g, ..]) => Some(report.with(Some(Arrivals {
                count: head >> 4,
                micros: u32::from_be_bytes([a, b, c, d]),
                bytes: ByteCount(u32::from_be_bytes([0, e, f, g])),
            }))),
            (VERSION, _) => Some(report),
            (SEALED_VERSION, seal) => Some(Report { seal: Some(*seal.first_chunk()?), ..report }),
            _ => None,
        }
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
        let version = if self.seal.is_some() { SEALED_VERSION } else { VERSION };
        let mut body = vec![version | self.arrivals.map_or(0, |arrivals| arrivals.count << 4)];
        body.extend(self.identity.bits().to_be_bytes());
        body.extend(self.seal.into_iter().flatten());
        if let Some(Arrivals { micros, bytes: ByteCount(bytes), .. }) = self.arrivals {
            body.extend(micros.to_be_bytes());
            body.extend(&bytes.to_be_bytes()[1..]);
        }
        let blocks = options.sack.clone();
        while !options.add_experiment(IDENTIFIER, &body) {
            if options.sack.len() <= 1 {
                options.sack = blocks;
                return false;
            }
            options.sack.truncate(options.sack.len() - 1);
        }
        true
    }
}

/// A leg's reports that are still to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ReportSchedule {
    left: u8,
    /// The latest pure acknowledgment had one.
    just_reported: bool,
    /// After so many others one has a seal. A flow that hibernates begins with one again.
    #[serde(skip)]
    unsealed: u8,
}

impl ReportSchedule {
    /// All of them.
    pub(crate) fn new() -> ReportSchedule {
        ReportSchedule { left: REPORTS, just_reported: false, unsealed: 0 }
    }

    /// Adds the report to the options of the next acknowledgment, where one is due and has room:
    /// then that which is in them. With a `seal`, some have that.
    pub(crate) fn report(
        &mut self,
        report: Report,
        seal: Option<Seal>,
        options: &mut TcpOptions,
    ) -> Option<Report> {
        let due = (self.left > 0 || report.arrivals.is_some()) && !self.just_reported;
        if !due {
            self.just_reported = false;
            return None;
        }
        let seals = |_: &Seal| self.unsealed == 0 || report.arrivals.is_none();
        let report = seal.filter(seals).map_or(report, |seal| report.sealed(seal));
        self.just_reported = report.put(options);
        if !self.just_reported {
            return None;
        }
        if report.seal.is_some() || seal.is_none() {
            self.left = self.left.saturating_sub(1);
            self.unsealed = if self.left > 0 { 1 } else { SEALED_ONE_IN };
        }
        self.unsealed = self.unsealed.saturating_sub(u8::from(report.seal.is_none()));
        Some(report)
    }

    /// An acknowledgment leaves without a report.
    pub(crate) fn pass(&mut self) {
        self.just_reported = false;
    }
}

#[cfg(test)]
mod tests {
    use super::super::PairKey;
    use super::*;
    use bentpipe_core::wire::{SackBlock, SeqNum, Timestamps};

    fn report() -> Report {
        Report::of(Identity::new(0xdead_beef).unwrap())
    }

    /// The same, with arrivals.
    fn with_arrivals() -> Report {
        let bytes = ByteCount::of(u64::MAX);
        report().with(Some(Arrivals { count: 9, micros: 0x0102_0304, bytes }))
    }

    /// What seals reports of the end with this initial sequence number.
    fn seal(isn: u32) -> Seal {
        let key: PairKey = "00112233445566778899aabbccddeeff".parse().unwrap();
        key.in_connection(SeqNum(isn), SeqNum(2))
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
    fn what_is_reported_is_read_as_it_is_and_taken_off() {
        for report in [report(), with_arrivals(), report().sealed(seal(1))] {
            let mut reported = options(1);
            assert!(report.put(&mut reported) && reported.fits());
            assert_eq!(Report::find(&reported), Some(report));
            assert!(Report::strip(&mut reported));
            assert_eq!(reported, options(1), "the newest SACK block stays");
            assert!(!Report::strip(&mut reported));
        }
    }

    #[test]
    fn sack_blocks_stay_as_far_as_there_is_room() {
        for (report, timestamps, blocks) in [
            (report(), true, 1),
            (with_arrivals(), true, 1),
            (report().sealed(seal(1)), true, 1),
            (report(), false, 3),
            (with_arrivals(), false, 2),
        ] {
            let mut reported = options(3);
            reported.timestamps = reported.timestamps.filter(|_| timestamps);
            assert!(report.put(&mut reported) && reported.fits());
            assert_eq!(reported.sack.len(), blocks, "{report:?} {timestamps}");
        }
    }

    #[test]
    fn another_version_and_no_identity_report_nothing_and_more_behind_it_the_same() {
        let body = |head: u8, bytes: &[u8]| [&[head], bytes].concat();
        let identity = [0xde, 0xad, 0xbe, 0xef];
        let all = [&identity[..], &[1, 2, 3, 4, 0xff, 0xff, 0xff]].concat();
        for (body, expected) in [
            (body(VERSION, &identity), Some(report())),
            (body(VERSION, &all[..10]), Some(report())),
            (body(0x90 | VERSION, &all), Some(with_arrivals())),
            (body(0x90 | VERSION, &[&all[..], &[7, 7]].concat()), Some(with_arrivals())),
            (body(SEALED_VERSION + 1, &all), None),
            (body(VERSION, &[0; 11]), None),
            (body(VERSION, &identity[..3]), None),
            (vec![], None),
        ] {
            let mut options = options(0);
            assert!(options.add_experiment(IDENTIFIER, &body));
            assert_eq!(Report::find(&options), expected, "{body:?}");
            assert!(Report::strip(&mut options), "{body:?}");
        }
    }

    #[test]
    fn a_count_wraps_and_does_not_go_back() {
        let since = |last: u64, first: u64| ByteCount::of(last).since(ByteCount::of(first));
        assert_eq!(since(1_000_000, 1_000_000), Some(0));
        assert_eq!(since(1_005_792, 1_000_000), Some(5_792));
        assert_eq!(since((1 << 28) + 4_096, (1 << 28) - 4_096), Some(8_192));
        assert_eq!(since(1_000_000, 1_000_016), None);
    }

    /// Whether each of these acknowledgments, with so many SACK blocks, has a report.
    fn reports(report: Report, blocks: &[usize]) -> Vec<bool> {
        let mut schedule = ReportSchedule::new();
        let mut reports = |blocks: &usize| {
            let mut options = options(*blocks);
            let reports = schedule.report(report, None, &mut options);
            assert_eq!(Report::find(&options), reports);
            reports.is_some()
        };
        blocks.iter().map(&mut reports).collect()
    }

    #[test]
    fn three_are_sent_or_more_with_arrivals_and_never_two_in_a_row() {
        let [yes, no] = [true, false];
        assert_eq!(reports(report(), &[0; 8]), [yes, no, yes, no, yes, no, no, no]);
        assert_eq!(reports(with_arrivals(), &[0; 8]), [yes, no, yes, no, yes, no, yes, no]);
        // They take the room of older SACK blocks.
        assert_eq!(reports(report(), &[2, 3, 4, 1, 0]), [yes, no, yes, no, yes]);
    }

    #[test]
    fn a_seal_is_of_one_identity_in_one_connection() {
        let sealed = report().sealed(seal(1));
        assert!(sealed.is_sealed_by(seal(1)) && !sealed.is_sealed_by(seal(2)));
        assert!(!with_arrivals().is_sealed_by(seal(1)));
        let thief = Report { identity: Identity::new(7).unwrap(), ..sealed };
        assert!(!thief.is_sealed_by(seal(1)));
    }

    #[test]
    fn with_a_key_seals_are_first_and_in_between() {
        let mut schedule = ReportSchedule::new();
        let mut kinds = |report: Report| {
            let sent: Vec<_> =
                (0..200).map(|_| schedule.report(report, Some(seal(1)), &mut options(1))).collect();
            let sent = sent.into_iter().flatten();
            sent.map(|sent| if sent.seal.is_some() { 's' } else { 'a' }).collect::<String>()
        };
        let in_between = format!("{}s", "a".repeat(16));
        let sent = kinds(with_arrivals());
        assert!(sent.starts_with(&format!("sasas{}", in_between.repeat(5))), "{sent}");
        let mut schedule = ReportSchedule::new();
        let sent =
            (0..20).filter_map(|_| schedule.report(report(), Some(seal(1)), &mut options(1)));
        assert_eq!(sent.filter(|sent| sent.seal.is_some()).count(), 3);
    }
}
