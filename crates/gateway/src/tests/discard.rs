//! Segments that are discarded because their stream has a backlog.

use super::*;
use crate::Discard;

/// The window that the gateway has offered the client: acknowledgment and right edge, as offsets.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Offer {
    ack: u64,
    edge: u64,
}

struct Upload {
    table: Table,
    offer: Offer,
}

impl Upload {
    fn new(discard: Discard) -> Upload {
        let mut config = Config::default();
        config.lan.discard = discard;
        let mut table = Table::new(config);
        table.open();
        Upload { table, offer: Offer { ack: 1, edge: 60_000 } }
    }

    fn discarded(&self) -> u64 {
        self.table.gateway.summary().side(Side::Lan).discarded
    }

    /// The client sends `len` bytes from `at`. Whether the gateway answers at once.
    fn send(&mut self, at: u64, len: usize) -> bool {
        let data = Table::segment(Side::Lan, at, 1, Flags::ACK);
        let sent = self.table.send(Side::Lan, data, &vec![7; len]);
        self.heed(&sent)
    }

    /// Everything below `to` has reached the server.
    fn acknowledge(&mut self, to: u64) {
        let ack = Table::segment(Side::Satellite, 1, to, Flags::ACK);
        let sent = self.table.send(Side::Satellite, ack, b"");
        self.heed(&sent);
    }

    fn heed(&mut self, sent: &[Transmit]) -> bool {
        let mut answers = false;
        for answer in sent.iter().filter(|sent| sent.to == Side::Lan) {
            let ack = answer.tcp.ack.distance_from(CLIENT_ISN) as u64;
            let edge = ack + u64::from(answer.tcp.window);
            assert!(edge >= self.offer.edge, "{edge} after {:?}", self.offer);
            self.offer = Offer { ack, edge };
            answers = true;
        }
        answers
    }
}

/// G01-D-13: never two in a window, none behind a hole, none twice, and no acknowledgment for any.
#[test]
fn of_a_window_one_segment_is_discarded_and_only_in_order() {
    const LEN: u64 = 1_000;
    for discard in [Discard::Single, Discard::RandomEarly] {
        let mut upload = Upload::new(discard);
        // A server that is slow at first: its acknowledgments fall behind by so many segments.
        let (mut next, mut delivered, mut window_before) = (1, 1, 0);
        for step in 0..5_000 {
            if next + 4 * LEN <= upload.offer.edge {
                let before = upload.discarded();
                let answered = upload.send(next, LEN as usize);
                if upload.discarded() > before {
                    assert!(!answered, "no acknowledgment");
                    assert!(next >= window_before, "two in one window, at {next}");
                    window_before = upload.offer.edge;
                    for behind in 1..4 {
                        assert!(upload.send(next + behind * LEN, LEN as usize));
                        assert!(upload.offer.ack <= next, "{:?}", upload.offer);
                    }
                    upload.send(next, LEN as usize);
                    assert_eq!(upload.discarded(), before + 1, "one for each hole");
                    next += 3 * LEN;
                    assert_eq!(upload.offer.ack, next + LEN, "all of it is there");
                }
                next += LEN;
            }
            if step > 40 && step % 2 == 0 && delivered + LEN < next {
                delivered += LEN;
                upload.acknowledge(delivered);
            }
        }
        println!("{discard:?}: {} of {next} bytes", upload.discarded());
        assert!(upload.discarded() > 0, "{discard:?}");
        assert!(delivered > 1_000 * LEN, "{discard:?}: {delivered}");
    }
}

/// The network loses a segment just when the backlog would cost one.
#[test]
fn neither_what_comes_behind_a_hole_nor_what_fills_it_is_discarded() {
    const LEN: u64 = 1_000;
    let mut upload = Upload::new(Discard::Single);
    let mut due = 1;
    while {
        upload.send(due, LEN as usize);
        upload.discarded() == 0
    } {
        due += LEN;
    }
    let mut upload = Upload::new(Discard::Single);
    for at in (1..due).step_by(LEN as usize) {
        upload.send(at, LEN as usize);
    }
    upload.send(due + LEN, LEN as usize);
    upload.send(due, LEN as usize);
    assert_eq!((upload.discarded(), upload.offer.ack), (0, due + 2 * LEN));
}

#[test]
fn of_a_super_segment_one_segment_is_discarded() {
    let mut upload = Upload::new(Discard::Single);
    let (mut at, len) = (1, 5 * 1_460);
    while upload.discarded() == 0 {
        upload.send(at, len);
        at += len as u64;
    }
    let hole = at - len as u64;
    assert_eq!(upload.offer.ack, hole, "the rest waits behind the hole");
    upload.send(hole, 1_460);
    assert_eq!(upload.offer.ack, at);
}
