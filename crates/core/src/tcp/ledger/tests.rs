use super::*;
use proptest::prelude::*;

/// Less than any part: none is joined with the next.
const ALONE: Bytes = Bytes::new(1);

fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Ten segments of 100 bytes from offset 1, sent a millisecond apart.
fn ten() -> Ledger {
    let mut ledger = Ledger::new(Offset::FIRST);
    for i in 0..10 {
        ledger.sent(at(i), Offset::new(1 + i * 100)..Offset::new(101 + i * 100));
    }
    ledger
}

#[test]
fn counts_what_is_in_flight() {
    let mut ledger = ten();
    assert_eq!((ledger.pipe(), ledger.flight_size()), (Bytes::new(1000), Bytes::new(1000)));
    let delivered = ledger.acknowledge(at(50), Offset::new(101), Some(Offset::span(301, 501)));
    assert_eq!((delivered.acked, delivered.sacked), (Bytes::new(100), Bytes::new(200)));
    assert_eq!(delivered.rtt, Some(Duration::from_millis(46)));
    assert_eq!(delivered.arrived.once, Some((at(4), Offset::new(501))));
    assert_eq!(delivered.arrived.lowest_once, Some(Offset::new(101)));
    assert_eq!((ledger.pipe(), ledger.flight_size()), (Bytes::new(700), Bytes::new(900)));
    ledger.mark_lost(Offset::span(101, 301));
    assert_eq!(
        (ledger.pipe(), ledger.first_lost(ALONE)),
        (Bytes::new(500), Some(Offset::span(101, 201)))
    );
    ledger.resent(at(51), Offset::span(101, 201));
    assert_eq!(
        (ledger.pipe(), ledger.first_lost(ALONE)),
        (Bytes::new(600), Some(Offset::span(201, 301)))
    );
    ledger.resent(at(51), Offset::span(201, 251));
    assert_eq!(ledger.first_lost(ALONE), Some(Offset::span(251, 301)));
    // Karn: an acknowledgment of what was sent twice measures nothing.
    assert_eq!(ledger.acknowledge(at(60), Offset::new(1001), []).rtt, None);
    assert_eq!(
        (ledger.pipe(), ledger.flight_size(), ledger.first_lost(ALONE)),
        (Bytes::ZERO, Bytes::ZERO, None)
    );
}

#[test]
fn lost_pieces_are_retransmitted_as_segments() {
    let mut ledger = ten();
    ledger.mark_lost(Offset::span(101, 501));
    ledger.acknowledge(at(50), Offset::new(1), Some(Offset::span(501, 601)));
    ledger.mark_lost(Offset::span(601, 701));
    let segment = |smss| ledger.first_lost(Bytes::new(smss));
    assert_eq!(segment(100), Some(Offset::span(101, 201)));
    assert_eq!(segment(250), Some(Offset::span(101, 351)));
    assert_eq!(segment(50), Some(Offset::span(101, 201)), "as long as it was sent");
    assert_eq!(segment(1000), Some(Offset::span(101, 501)), "what was sacked is no part of it");
    ledger.resent(at(51), Offset::span(101, 351));
    assert_eq!(ledger.first_lost(Bytes::new(250)), Some(Offset::span(351, 501)));
}

#[test]
fn what_went_out_once_more_measures_nothing() {
    let mut ledger = ten();
    ledger.repeated(Offset::span(301, 401));
    assert_eq!((ledger.pipe(), ledger.first_lost(ALONE)), (Bytes::new(1000), None));
    assert_eq!(ledger.acknowledge(at(6000), Offset::FIRST, Some(Offset::span(301, 401))).rtt, None);
    assert_eq!(
        ledger.acknowledge(at(6001), Offset::FIRST, Some(Offset::span(401, 501))).rtt,
        Some(Duration::from_millis(5997))
    );
}

#[test]
fn a_lost_retransmission_counts_again() {
    let mut ledger = ten();
    ledger.mark_lost(Offset::span(1, 101));
    ledger.resent(at(20), Offset::span(1, 101));
    assert_eq!(ledger.first_lost(ALONE), None);
    ledger.mark_lost(Offset::span(1, 1001));
    assert_eq!(
        (ledger.pipe(), ledger.first_lost(ALONE)),
        (Bytes::ZERO, Some(Offset::span(1, 101)))
    );
    ledger.resent(at(30), Offset::span(1, 101));
    ledger.unmark_lost();
    assert_eq!((ledger.pipe(), ledger.first_lost(ALONE)), (Bytes::new(1000), None));
}

proptest! {
    #[test]
    fn sums_agree_with_the_records(steps in proptest::collection::vec((0u8..6, 0u64..2000, 0u64..400), 0..80)) {
        let mut ledger = Ledger::new(Offset::FIRST);
        for (time, (kind, start, len)) in steps.into_iter().enumerate() {
            let now = at(time as u64);
            let (una, nxt) = (ledger.snd_una(), ledger.snd_nxt());
            let start = (una + Bytes::new(start)).min(nxt);
            let range = start..(start + Bytes::new(len)).min(nxt);
            match kind {
                0 => ledger.sent(now, nxt..nxt + Bytes::new(len)),
                1 => ledger.mark_lost(range),
                4 => ledger.unmark_lost(),
                2 => ledger.resent(now, range),
                3 => { ledger.acknowledge(now, una, Some(range)); }
                _ => { ledger.acknowledge(now, (una + Bytes::new(len)).min(nxt), []); }
            }
            prop_assert_eq!(ledger.pipe(), ledger.records.iter().map(SentSegment::pipe).sum::<Bytes>());
            let lost: Vec<Offset> = ledger.records.iter()
                .filter(|r| r.lost && !r.retransmitted && !r.sacked).map(|r| r.range.start).collect();
            prop_assert_eq!(ledger.lost.iter().copied().collect::<Vec<_>>(), lost);
            let sacked: Bytes = ledger.records.iter().filter(|r| r.sacked).map(SentSegment::len).sum();
            prop_assert_eq!(ledger.sacked.covered(), sacked);
            let mut at = ledger.snd_una();
            for record in &ledger.records { prop_assert_eq!(record.range.start, at); at = record.range.end; }
            prop_assert_eq!(at, ledger.snd_nxt());
        }
    }
}
