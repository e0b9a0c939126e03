//! What keeps whom waiting on a link.

use super::*;
use crate::Config;
use bentpipe_core::time::Duration;

#[test]
fn a_watched_link_is_full_with_a_quarter_more_than_its_product() {
    let mut leg = Config::default().satellite;
    leg.rate = Some(Rate::from_bits_per_sec(8_000_000));
    let mut link = LinkScheduler::new(&leg);
    let (mut one, mut other) = (DrrEntry::default(), DrrEntry::default());
    link.set_in_flight(&mut one, 10_000_000, false);
    assert!(
        !link.is_busy(Instant::ZERO, &DrrEntry::default()),
        "nothing is known of its round trip"
    );
    let rtt = Some(Duration::from_millis(500));
    link.on_report(
        Instant::ZERO,
        &mut one,
        LinkReport { delivered: Bytes::new(1448), lost: Bytes::ZERO, rtt, ..LinkReport::default() },
    );
    assert!(link.is_busy(Instant::ZERO, &DrrEntry::default()));
    link.wait(7, &mut other);
    assert_eq!((link.next(Instant::ZERO), link.poll_timeout()), (None, None));
    // Half a megabyte is the product.
    link.set_in_flight(&mut one, 625_000, false);
    assert_eq!(link.next(Instant::ZERO), Some(7));
    link.begins(7, &mut other);
    link.set_in_flight(&mut other, 1, false);
    assert!(link.is_busy(Instant::ZERO, &DrrEntry::default()), "all flows count together");
    // Of a host that is not heard any more what is in flight keeps such flows waiting alone.
    link.set_in_flight(&mut one, 625_000, true);
    assert!(!link.is_busy(Instant::ZERO, &other));
    assert!(link.is_busy(Instant::ZERO, &one));
    link.wait(8, &mut one);
    assert_eq!((link.next(Instant::ZERO), link.poll_timeout()), (None, None));
    link.set_in_flight(&mut one, 625_000, false);
    link.set_in_flight(&mut other, 0, false);
    assert_eq!(link.next(Instant::ZERO), Some(8), "it is heard again");
    link.begins(8, &mut one);
    link.remove(&one);
    assert!(!link.is_busy(Instant::ZERO, &DrrEntry::default()));
}

#[test]
fn a_download_that_waits_is_none_that_has_just_begun() {
    let mut link = LinkScheduler::of_remote(&Config::default().satellite);
    let (mut download, mut page) = (DrrEntry::default(), DrrEntry::default());
    let now = Instant::ZERO;
    link.wait(1, &mut download);
    assert_eq!(link.next(now), Some(1));
    assert!(link.begins(1, &mut download));
    link.used(1, &mut download, Some(Sent { bytes: 200_000, payload: 190_000 }));
    link.wait(1, &mut download);
    // All that it had in flight is acknowledged.
    link.set_in_flight(&mut download, 1, false);
    link.set_in_flight(&mut download, 0, false);
    assert_eq!(link.next(now), Some(1));
    assert!(!link.begins(1, &mut download), "it has had its share, and waits again");
    // Others have sent meanwhile.
    link.waiting.note_sent(false, 100_000);
    link.wait(2, &mut page);
    assert_eq!([link.next(now), link.next(now)], [Some(2), Some(1)]);
}
