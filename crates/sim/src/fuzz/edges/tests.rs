use super::*;
use bentpipe_core::wire::Timestamps;
use std::net::Ipv4Addr;

/// The answer to a SYN comes and passes.
fn answered(edges: &mut Edges, syn: &Segment) -> Segment {
    let (flags, seq, ack) = (Flags::SYN | Flags::ACK, SeqNum(500), SeqNum(101));
    let synack = Segment { src: syn.dst, dst: syn.src, flags, seq, ack, ..*syn };
    edges.see(&Segment { event: SegmentEvent::Received, ..synack }).unwrap();
    edges.inherit(&synack);
    synack
}

/// The box's SYN-ACK promises 65,535 bytes and its next segment 512, in units of the shift that it
/// offers.
fn promised(copies: [Option<u8>; 2]) -> Result<(), String> {
    let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
    let syn = Segment::syn(2, [client, server]);
    let mut edges = Edges::default();
    for window_scale in copies {
        edges.see(&Segment { window_scale, ..syn })?;
    }
    let synack = Segment {
        event: SegmentEvent::Sent,
        src: server,
        dst: client,
        flags: Flags::SYN | Flags::ACK,
        seq: SeqNum(500),
        ack: SeqNum(101),
        window: u16::MAX,
        window_scale: Some(7),
        ..syn
    };
    edges.see(&synack)?;
    let (flags, seq, window) = (Flags::ACK, SeqNum(501), 512);
    edges.see(&Segment { flags, seq, window, ..synack })
}

/// Fault seed 2329860: a gateway had no room any more for the first copy when another gateway had
/// for the second.
#[test]
fn a_synack_with_a_window_scale_answers_the_copy_that_offered_one() {
    assert!(promised([None, None]).is_err());
    for copies in [[None, Some(10)], [Some(10), None], [Some(10), Some(10)]] {
        assert!(promised(copies).is_ok(), "{copies:?}");
    }
}

/// Fault seeds 95143 and 138694: what a gateway has forwarded counts only if its receiver takes it.
#[test]
fn what_its_receiver_drops_does_not_count() {
    let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
    let syn = Segment {
        event: SegmentEvent::Forwarded,
        window: 1000,
        ..Segment::syn(2, [client, server])
    };
    let mut edges = Edges::default();
    edges.inherit(&syn);
    let synack = Segment {
        src: server,
        dst: client,
        flags: Flags::SYN | Flags::ACK,
        seq: SeqNum(500),
        ack: SeqNum(101),
        ..syn
    };
    edges.see(&Segment { event: SegmentEvent::Received, ..synack }).unwrap();
    edges.inherit(&synack);
    let data = |seq, len| Segment { flags: Flags::ACK, seq: SeqNum(seq), len, ..synack };
    // The SYN's window ends there.
    assert!(edges.allow(&data(501, 1000)) && edges.allow(&data(1501, 1)));
    assert!(!edges.allow(&data(1502, 1)));
    assert!(edges.has_room(&data(501, 1000)) && !edges.has_room(&data(501, 1001)));
    let ack = Segment { flags: Flags::ACK, seq: SeqNum(101), ack: SeqNum(901), ..syn };
    edges.inherit(&ack);
    assert!(edges.allow(&data(501, 401)) && edges.allow(&data(901, 0)));
    assert!(!edges.allow(&data(501, 399)));
    assert!(edges.allow(&data(1901, 1)) && !edges.allow(&data(1902, 1)));
}

/// Fault seed 110678310: a gateway that another path leaves behind closes a window that is its own,
/// not the host's.
#[test]
fn a_window_that_closes_while_the_path_is_vague_drops_nothing() {
    let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
    let syn = Segment {
        event: SegmentEvent::Forwarded,
        window: 1000,
        ..Segment::syn(2, [client, server])
    };
    let mut edges = Edges::default();
    edges.see(&Segment { event: SegmentEvent::Received, ..syn }).unwrap();
    edges.inherit(&syn);
    let synack = answered(&mut edges, &syn);
    let says = |window| Segment { flags: Flags::ACK, seq: SeqNum(501), window, ..synack };
    let data = Segment { flags: Flags::ACK, seq: SeqNum(601), ack: SeqNum(501), ..syn };
    edges.lose_sight(|_| true);
    for window in [1000, 0] {
        edges.inherit(&says(window));
    }
    assert!(edges.allow(&data));
    edges.see(&Segment { event: SegmentEvent::Sent, ..says(0) }).unwrap();
    assert!(!edges.allow(&data), "the node's own word is binding");
}

/// Fault seed 116366915: another gateway has added timestamps, past which what the host says
/// without them is dropped.
#[test]
fn what_lacks_the_timestamps_of_the_others_promises_nothing() {
    let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
    let syn = Segment {
        event: SegmentEvent::Forwarded,
        window: 1000,
        ..Segment::syn(2, [client, server])
    };
    let mut edges = Edges::default();
    edges.inherit(&syn);
    answered(&mut edges, &syn);
    edges.lose_sight(|_| true);
    let says = |window, timestamps| {
        let (flags, seq, ack) = (Flags::ACK, SeqNum(101), SeqNum(501));
        Segment { flags, seq, ack, window, timestamps, ..syn }
    };
    edges.inherit(&says(60_000, None));
    edges.inherit(&says(700, Some(Timestamps { value: 7, echo: 0 })));
    assert_eq!(edges.edge(2, client, server), Some((SeqNum(1201), 1)));
    assert!(!edges.allow(&says(60_000, None)));
}

/// Fault seed 399402: a segment that was overtaken by its own retransmission looks old to its
/// receiver, which drops it.
#[test]
fn what_looks_old_to_its_receiver_does_not_count() {
    let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
    let stamped = |value| Some(Timestamps { value, echo: 0 });
    let syn = Segment {
        event: SegmentEvent::Forwarded,
        timestamps: stamped(10),
        ..Segment::syn(2, [client, server])
    };
    let mut edges = Edges::default();
    edges.see(&Segment { event: SegmentEvent::Received, ..syn }).unwrap();
    edges.inherit(&syn);
    let synack = answered(&mut edges, &syn);
    let data = |seq, value| {
        let (flags, timestamps) = (Flags::ACK, stamped(value));
        Segment { flags, seq: SeqNum(seq), ack: SeqNum(501), len: 100, timestamps, ..syn }
    };
    edges.inherit(&data(201, 30));
    assert!(edges.allow(&data(301, 20)), "what is out of order is not kept");
    edges.inherit(&data(101, 40));
    assert!(!edges.allow(&data(301, 30)) && edges.allow(&data(301, 40)));
    let bare = Segment { timestamps: None, ..data(301, 40) };
    assert!(!edges.allow(&bare));
    edges.inherit(&Segment { timestamps: None, ..synack });
    assert!(edges.allow(&bare), "they were not agreed on");
    edges.inherit(&syn);
    assert!(edges.allow(&bare), "a copy of the SYN does not change that");
}

/// Fault seed 122234080: a handshake was given up, and begun once more with less memory.
#[test]
fn a_synack_that_comes_again_may_promise_less_as_long_as_nothing_else_was_said() {
    let [client, server] = [1, 2].map(|host| (Ipv4Addr::new(10, 0, 0, host).into(), 80));
    let syn = Segment::syn(2, [client, server]);
    let says = |flags, seq, window| {
        let (seq, ack) = (SeqNum(seq), SeqNum(101));
        Segment {
            event: SegmentEvent::Sent,
            src: server,
            dst: client,
            flags,
            seq,
            ack,
            window,
            ..syn
        }
    };
    let synack = |window| says(Flags::SYN | Flags::ACK, 500, window);
    let after = |said: &[Segment]| {
        let mut edges = Edges::default();
        edges.see(&syn).unwrap();
        said.iter().try_for_each(|segment| edges.see(segment))
    };
    let ack = |window| says(Flags::ACK, 501, window);
    after(&[synack(60_000), synack(20_000), ack(20_000)]).unwrap();
    after(&[synack(60_000), synack(20_000), ack(19_000)]).unwrap_err();
    after(&[synack(60_000), ack(60_000), synack(20_000), ack(60_000)]).unwrap();
    after(&[synack(60_000), ack(60_000), synack(20_000), ack(20_000)]).unwrap_err();
}
