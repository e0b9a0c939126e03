use super::packets::Sample;
use super::*;
use crate::testing::{File, Packet, SYN, ack, data};

/// Files of both places: the same packets, and 10 ms later.
struct Files([File; 2]);

impl Files {
    /// Behind a handshake.
    fn opened() -> Files {
        let mut files = Files([File::new(), File::new()]);
        let syn = Packet { flags: SYN, seq: 100, ack: 0, ..data(0, 0) };
        files.both(0.0, &syn);
        files.back(15.0, &Packet { flags: SYN | 16, seq: 500, ..ack(101, &[]) });
        files.both(30.0, &data(101, 0));
        files
    }

    fn both(&mut self, ms: f64, packet: &Packet) {
        self.0[0].at(ms, packet);
        self.0[1].at(ms + 10.0, packet);
    }

    fn back(&mut self, ms: f64, packet: &Packet) {
        self.0[1].at(ms, packet);
        self.0[0].at(ms + 10.0, packet);
    }

    fn read(&self) -> [Capture; 2] {
        self.0.each_ref().map(File::read)
    }
}

fn only([first, second]: &[Capture; 2]) -> (Paired, Hop) {
    let pairs = pair(first, second);
    let [paired] = pairs[..] else { panic!("{pairs:?}") };
    (paired, hop(Place::new(first, 0), Place::new(second, 0), &paired))
}

#[test]
fn translated_addresses_are_paired_by_numbers() {
    let mut files = Files::opened();
    files.both(40.0, &data(101, 1000));
    let mut captures = files.read();
    captures[1].connections[0].ends[0].set_port(61_000);
    let (paired, hop) = only(&captures);
    assert_eq!((paired.by, paired.flipped, hop.same), (By::Numbers, false, (1, 1)));
    // Neither SYN was seen, and the second place takes the server for the first end.
    let mut middle = Files([File::new(), File::new()]);
    middle.0[1].at(0.0, &ack(101, &[]));
    middle.both(40.0, &data(101, 1000));
    middle.both(50.0, &data(1101, 1000));
    let mut captures = middle.read();
    captures[1].connections[0].ends[1].set_port(61_000);
    let (paired, hop) = only(&captures);
    assert_eq!((paired.by, paired.flipped, hop.same), (By::Numbers, true, (2, 2)));
    // Nothing is the same.
    let mut other = File::opened();
    other.at(40.0, &data(101, 10));
    let mut other = other.read();
    other.connections[0].ends[0].set_port(1);
    other.connections[0].first_seq = [Some(7), Some(8)];
    assert_eq!(pair(&captures[0], &other), []);
}

#[test]
fn numbers_that_a_firewall_changes_are_changed_back() {
    let mut files = Files::opened();
    files.both(40.0, &data(101, 1000));
    files.back(60.0, &ack(1101, &[(2000, 3000)]));
    let mut captures = files.read();
    let connection = &mut captures[1].connections[0];
    let add = [1_000_000_u32, 4_000_000_000];
    for segment in &mut connection.segments {
        let own = segment.direction.index();
        segment.seq = segment.seq.wrapping_add(add[own]);
        segment.ack = segment.ack.wrapping_add(add[1 - own]);
    }
    for sack in &mut connection.sacks {
        (sack.left, sack.right) = (sack.left + add[0], sack.right + add[0]);
    }
    for (number, add) in connection.first_seq.iter_mut().zip(add) {
        *number = number.map(|number| number.wrapping_add(add));
    }
    let (paired, hop) = only(&captures);
    assert_eq!((paired.by, hop.basis, hop.same), (By::EndsOnly, Compared::Packets, (1, 1)));
    assert_eq!(hop.ways.each_ref().map(|way| way.samples.len()), [3, 2]);
}

#[test]
fn super_segments_are_compared_by_their_bytes() {
    let mut files = Files::opened();
    // Of four packets the third is lost, and retransmitted.
    files.0[0].at(40.0, &data(101, 5840));
    for seq in [101, 1561, 4481] {
        files.0[1].at(50.0 + f64::from(seq) / 1000.0, &data(seq, 1460));
    }
    files.both(90.0, &data(3021, 1460));
    // The receiver's card has joined two packets.
    files.0[0].at(100.0, &data(5941, 1460));
    files.0[0].at(100.1, &data(7401, 1460));
    files.0[1].at(110.0, &data(5941, 2920));
    let (_, hop) = only(&files.read());
    let way = &hop.ways[0];
    assert_eq!(way.lost, Lost { packets: 1, bytes: 1460 });
    assert_eq!((way.only, way.duplicated), (Lost::default(), 0));
    let [loss] = &way.losses[..] else { panic!("{way:?}") };
    assert_eq!((loss.place, loss.retransmitted), (Some(2921), 1460));
}

#[test]
fn a_retransmission_is_not_taken_for_what_was_lost() {
    let mut files = Files::opened();
    files.0[0].at(40.0, &data(101, 1000));
    files.both(1040.0, &data(101, 1000));
    files.both(1090.0, &data(1101, 1000));
    let (_, hop) = only(&files.read());
    let way = &hop.ways[0];
    assert_eq!(way.lost, Lost { packets: 1, bytes: 1000 });
    assert_eq!(way.spread.map(|spread| spread.max), Some(0));
    assert_eq!(hop.clock.round_trip(), Some(20_000_000));
    assert_eq!(hop.clock.ahead(), Some((-10_000_000, 10_000_000)));
}

#[test]
fn one_direction_tells_nothing_of_clocks() {
    let mut files = Files([File::new(), File::new()]);
    files.both(40.0, &data(101, 1000));
    files.both(50.0, &data(1101, 1000));
    let (_, hop) = only(&files.read());
    assert_eq!((hop.clock.round_trip(), hop.clock.ahead()), (None, None));
    assert_eq!(hop.ways[0].samples.len(), 2);
}

/// A minute of delays of both directions, in milliseconds, each second.
fn delays(part: f64, queue: impl Fn(i64) -> f64) -> [Vec<Sample>; 2] {
    let sample = |at: i64, sign: f64, ms: f64| {
        let at = at * 1_000_000_000;
        let drift = sign * part * at as f64;
        Sample { at, delay: (ms * 1e6 + drift).round() as i64, bytes: 1 }
    };
    let there = (0..60).map(|at| sample(at, 1.0, 10.0 + queue(at)));
    let back = (0..60).map(|at| sample(at, -1.0, 10.0));
    [there.collect(), back.collect()]
}

#[test]
fn drift_is_what_both_directions_have() {
    let fit = |samples: &[Vec<Sample>; 2]| Clock::fit(samples, Direction::Forward);
    let busy = |at: i64| (at % 7) as f64 * 3.0;
    for ppm in [50.0, -3.0] {
        let clock = fit(&delays(ppm / 1e6, busy));
        let found = clock.drift.expect("a drift").part * 1e6;
        assert!((found - ppm).abs() < 0.01, "{found}");
        assert_eq!(clock.least, [Some(10_000_000); 2]);
    }
    // A queue that grows is no drift, as the other direction does not shrink; nor is a steep one.
    assert_eq!(fit(&delays(0.0, |at| at as f64 * 0.02)).drift, None);
    assert_eq!(fit(&delays(0.01, busy)).drift, None);
}
