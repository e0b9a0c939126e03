//! Openings that go wrong, or twice.

use super::*;

fn passive() -> (Host, Host) {
    let config = ConnectionConfig::default();
    let mut a = Host::connect(at(0), config, SeqNum(1));
    let (syn, _) = drain(&mut a, at(0)).pop().unwrap();
    let b = Host::accept(at(0), config, SeqNum(2), &syn).unwrap();
    (a, b)
}

#[test]
fn an_abort_in_syn_received_resets_the_peer() {
    // RFC 9293, 3.10.5.
    let (mut a, mut b) = passive();
    exchange(&mut a, &mut b, at(1));
    let (mut a, mut b) = (a, {
        let (_, b) = passive();
        b
    });
    drain(&mut b, at(1));
    b.abort();
    let (reset, _) = drain(&mut b, at(1)).pop().expect("a RST");
    assert!(reset.has(Flags::RST));
    a.handle_segment(at(2), &reset, Payload::EMPTY);
    assert_eq!(a.state(), State::Closed);
    // In SYN-SENT there is nobody to be told.
    let mut a = Host::connect(at(0), ConnectionConfig::default(), SeqNum(1));
    drain(&mut a, at(0));
    a.abort();
    assert!(drain(&mut a, at(1)).is_empty());
}

#[test]
fn a_repeated_syn_ack_measures_no_round_trip() {
    // Karn: the acknowledgment may be for either.
    for repeated in [false, true] {
        let (mut a, mut b) = passive();
        let (answer, _) = drain(&mut b, at(0)).pop().unwrap();
        if repeated {
            let syn = TcpHeader { seq: SeqNum(1), flags: Flags::SYN, ..TcpHeader::default() };
            b.handle_segment(at(400), &syn, Payload::EMPTY);
            assert_eq!(drain(&mut b, at(400)).len(), 1);
        }
        a.handle_segment(at(250), &answer, Payload::EMPTY);
        for (tcp, _) in drain(&mut a, at(250)) {
            b.handle_segment(at(500), &tcp, Payload::EMPTY);
        }
        let srtt = b.tcb().unwrap().sender.rtt().srtt();
        assert_eq!(srtt, (!repeated).then_some(Duration::from_millis(500)));
    }
}

#[test]
fn a_passive_open_sends_nothing_of_its_own() {
    // The window of the SYN-ACK could not be scaled; the next segment that is due tells the rest.
    let (mut a, mut b) = passive();
    let (answer, _) = drain(&mut b, at(0)).pop().unwrap();
    a.handle_segment(at(1), &answer, Payload::EMPTY);
    let (ack, _) = drain(&mut a, at(1)).pop().unwrap();
    b.handle_segment(at(2), &ack, Payload::EMPTY);
    assert!(drain(&mut b, at(2)).is_empty());
    b.write(Payload::Bytes(b"x"));
    let (data, _) = drain(&mut b, at(3)).pop().unwrap();
    assert_eq!(u64::from(data.window) << 7, 4 << 20);
}

/// RFC 7323, 4.3: the first segment is lost, so the second one, which completes the handshake,
/// comes out of order.
#[test]
fn a_segment_behind_a_lost_one_opens_a_connection_and_is_not_echoed() {
    let (mut a, mut b) = passive();
    let (answer, _) = drain(&mut b, at(0)).pop().unwrap();
    a.handle_segment(at(100), &answer, Payload::EMPTY);
    a.write(Payload::Bytes(&[7; 4000]));
    let sent = drain(&mut a, at(200));
    let (second, payload) = sent.iter().filter(|(_, payload)| !payload.is_empty()).nth(1).unwrap();
    b.handle_segment(at(300), second, Payload::Bytes(payload));
    assert_eq!(b.state(), State::Established);
    let (ack, _) = drain(&mut b, at(300)).pop().expect("a duplicate acknowledgment");
    let echo = |tcp: &TcpHeader| tcp.options.timestamps.unwrap().echo;
    assert_eq!(echo(&ack), echo(&answer), "the SYN's");
}
