//! Stories of small connections.

use super::*;
use crate::evidence::{Reason, Said};
use crate::testing::{ACK, File, Packet, SYN, ack, data};

const RST: u16 = 4;

fn story(file: &File) -> Story {
    let connection = file.connection();
    explain(&connection, &crate::analyse(&connection), Direction::Forward)
}

/// What is said of each silence behind the handshake.
fn said(story: &Story) -> Vec<Said> {
    let all = story.silences().map(Silence::said);
    all.filter(|&said| said != Said::One(Limiter::Handshake)).collect()
}

#[test]
fn a_window_of_cwnd_is_a_run_and_waits_for_its_acks() {
    let mut file = File::opened();
    for number in 0..4 {
        file.at(21.0 + f64::from(number) / 10.0, &data(101 + 1460 * number, 1460));
    }
    file.at(41.5, &ack(101 + 2 * 1460, &[]));
    file.at(41.6, &data(101 + 4 * 1460, 1460));
    let story = story(&file);
    let [Event::Silence(_), Event::Run(first), Event::Silence(silence), Event::Run(_)] =
        &story.events[..]
    else {
        panic!("{story:?}");
    };
    assert_eq!((first.segments, first.bytes, first.seq), (4, 5840, (1, 5841)));
    assert_eq!((first.why, first.trigger), (Why::New, None));
    // Nothing shows that cwnd has grown: it may be the send buffer.
    let evidence = Evidence::AckClock {
        packet: 8,
        flights: (5840, 5840),
        less: false,
        room: true,
        recovery: None,
        paced: false,
    };
    assert_eq!(silence.basis, Basis::Inferred(evidence));
    assert_eq!(silence.end - silence.begin, 20_300_000);
    assert!(!story.recorded);
}

#[test]
fn cwnd_is_told_where_more_is_in_flight_at_another_time() {
    let mut file = File::opened();
    for number in 0..4 {
        file.at(21.0, &data(101 + 1460 * number, 1460));
    }
    file.at(41.0, &ack(101 + 2 * 1460, &[]));
    for number in 4..8 {
        file.at(41.1, &data(101 + 1460 * number, 1460));
    }
    file.at(61.0, &ack(101 + 4 * 1460, &[]));
    file.at(61.1, &data(101 + 8 * 1460, 1460));
    let buffer = Said::Either(Limiter::CongestionWindow, Limiter::SendBuffer);
    assert_eq!(said(&story(&file)), [Said::One(Limiter::CongestionWindow), buffer]);
}

#[test]
fn super_segments_of_a_sender_are_full_where_its_peer_takes_longer_ones() {
    let mut file = File::new();
    let mss = |mss: u16| [&[2, 4][..], &mss.to_be_bytes()].concat();
    let syn = Packet { flags: SYN, seq: 100, ack: 0, options: mss(1460), ..data(0, 0) };
    let answer = Packet { from_client: false, seq: 500, ack: 101, flags: SYN | ACK, ..syn.clone() };
    file.at(0.0, &syn);
    file.at(20.0, &Packet { options: mss(8961), window: 60_000, ..answer });
    file.at(20.1, &data(101, 0));
    for number in 0..4 {
        file.at(21.0, &data(101 + 2920 * number, 2920));
    }
    file.at(41.0, &ack(101 + 2 * 2920, &[]));
    file.at(41.1, &data(101 + 4 * 2920, 2920));
    let analysis = crate::analyse(&file.connection());
    assert_eq!(analysis.mss, [1460, 1460]);
    let buffer = Said::Either(Limiter::CongestionWindow, Limiter::SendBuffer);
    assert_eq!(said(&story(&file)), [buffer]);
}

#[test]
fn an_application_is_told_where_all_is_acknowledged_for_a_round_trip() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1460));
    file.at(41.0, &ack(1561, &[]));
    file.at(541.0, &data(1561, 1460));
    assert_eq!(said(&story(&file)), [Said::One(Limiter::Application)]);
    // For less than that a pacer may have waited.
    let mut file = File::opened();
    file.at(21.0, &data(101, 1460));
    file.at(41.0, &ack(1561, &[]));
    file.at(55.0, &data(1561, 1460));
    let either = Said::Either(Limiter::Application, Limiter::Pacer);
    assert_eq!(said(&story(&file)), [either]);
}

#[test]
fn an_answer_is_no_ack_clock() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 100));
    let answer = Packet { from_client: false, seq: 501, ack: 201, ..data(0, 300) };
    file.at(361.0, &answer);
    file.at(361.5, &Packet { ack: 801, ..data(201, 100) });
    let told = story(&file);
    assert_eq!(said(&told), [Said::One(Limiter::Application)]);
    let basis = told.silences().last().unwrap().basis;
    assert_eq!(basis, Basis::Inferred(Evidence::PeersData { packet: 5, all: true, nagle: false }));
    // So soon that no application was woken: it may have been held back.
    file.at(701.0, &Packet { seq: 801, ack: 301, ..answer });
    file.at(701.01, &Packet { ack: 1101, ..data(301, 100) });
    let either = Said::Either(Limiter::Nagle, Limiter::Application);
    assert_eq!(said(&story(&file))[1..], [either]);
}

#[test]
fn a_window_is_told_where_its_scale_is_known_or_it_is_closed() {
    let mut file = File::opened();
    file.at(20.2, &Packet { window: 1000, ..ack(101, &[]) });
    file.at(21.0, &data(101, 1000));
    file.at(41.0, &Packet { window: 0, ..ack(1101, &[]) });
    file.at(91.0, &ack(1101, &[]));
    file.at(91.1, &data(1101, 1000));
    assert_eq!(said(&story(&file)), [Said::One(Limiter::PeerWindow)]);

    // Without SYNs a window of zero is one all the same, and its probes are no late data.
    let mut file = File::new();
    file.at(1.0, &data(101, 1000));
    file.at(21.0, &Packet { window: 0, ..ack(1101, &[]) });
    file.at(321.0, &data(1100, 0));
    file.at(341.0, &Packet { window: 0, ..ack(1101, &[]) });
    file.at(941.0, &data(1101, 1));
    let story = story(&file);
    let window = Said::One(Limiter::PeerWindow);
    assert_eq!(said(&story), [window, window]);
    let whys: Vec<Why> = story.runs().map(|run| run.why).collect();
    assert_eq!(whys, [Why::New, Why::WindowProbe, Why::WindowProbe]);
}

/// A file whose client sends short segments of so many bytes, each upon the ACK of the one before.
fn short_segments(lengths: &[u16]) -> File {
    let mut file = File::opened();
    let (mut ms, mut seq) = (21.0, 101);
    for &length in lengths {
        file.at(ms, &data(seq, length));
        seq += u32::from(length);
        file.at(ms + 39.9, &ack(seq, &[]));
        ms += 40.0;
    }
    file
}

#[test]
fn three_short_segments_that_wait_for_acks_are_nagles_rule() {
    let either = Said::Either(Limiter::Nagle, Limiter::Application);
    assert_eq!(said(&story(&short_segments(&[100, 100, 300]))), [either; 2]);
    let nagle = Said::One(Limiter::Nagle);
    let four = short_segments(&[100, 100, 300, 400]);
    assert_eq!(said(&story(&four)), [either, nagle, nagle]);
    // A single write may just have come.
    assert_eq!(said(&story(&short_segments(&[100, 100, 100, 100]))), [either; 3]);
}

#[test]
fn of_one_direction_alone_nothing_is_said() {
    let mut file = File::new();
    for number in 0..6 {
        file.at(f64::from(number) * 500.0, &data(101 + 1000 * number, 1000));
    }
    file.at(3100.0, &data(101, 1000));
    let story = story(&file);
    assert!(said(&story).iter().all(|said| *said == Said::Unknown(Reason::OneDirection)));
    let facts = crate::analyse(&file.connection()).facts;
    assert!(facts.iter().all(|fact| fact.outstanding == [0, 0]));
    assert_eq!(story.runs().last().unwrap().trigger, None);
}

#[test]
fn a_handshake_is_told_with_its_attempts() {
    let mut file = File::new();
    let syn = Packet { flags: SYN, ack: 0, ..data(100, 0) };
    for ms in [0.0, 3000.0, 9000.0] {
        file.at(ms, &syn);
    }
    let told = |file: &File| {
        let connection = file.connection();
        handshake(&connection, &crate::analyse(&connection)).unwrap()
    };
    assert_eq!(told(&file).words(), "never answered, SYN retransmitted 2 times in 9.000000 s");
    file.at(9020.0, &Packet { from_client: false, seq: 500, ack: 101, flags: SYN | ACK, ..syn });
    file.at(9020.1, &data(101, 0));
    file.at(9021.0, &data(101, 1000));
    assert_eq!(told(&file).words(), "opened in 9.020100 s, SYN retransmitted 2 times");
    let first = story(&file).silences().next().unwrap().said();
    assert_eq!(first, Said::One(Limiter::Handshake));
}

#[test]
fn a_handshake_whose_answer_is_not_in_the_capture_was_accepted() {
    let told = |packets: &[Packet]| {
        let mut file = File::new();
        for (number, packet) in packets.iter().enumerate() {
            file.at(number as f64, packet);
        }
        let connection = file.connection();
        let json = telling::as_json("", &connection);
        let words = handshake(&connection, &crate::analyse(&connection)).unwrap().words();
        (words, json["handshake"]["outcome"].as_str().unwrap().to_owned())
    };
    let accepted = ("opened; its answer is not in the capture".to_owned(), "opened".to_owned());
    let syn = Packet { flags: SYN, ack: 0, ..data(100, 0) };
    let reset = Packet { from_client: false, flags: RST | ACK, seq: 501, ack: 101, ..data(0, 0) };
    let caller = [syn.clone(), data(101, 0), data(101, 1000)];
    assert_eq!(told(&caller), accepted);
    assert_eq!(told(&[&caller[..], std::slice::from_ref(&reset)].concat()), accepted);
    let answer = Packet { from_client: false, seq: 501, ack: 1101, ..data(0, 300) };
    assert_eq!(told(&[syn.clone(), answer]), accepted);
    // An empty ACK of nothing that was sent belongs to another connection, and is reset.
    let challenge = Packet { seq: 0x700_0000, ..ack(0x300_0000, &[]) };
    let resets = Packet { flags: RST, seq: 0x300_0000, ack: 0, ..data(0, 0) };
    assert_eq!(told(&[syn.clone(), challenge, resets]).1, "unanswered");
    assert_eq!(told(&[syn, reset]).1, "refused");
}

#[test]
fn with_accurate_ecn_the_flags_of_ecn_are_a_counter() {
    const ECE: u16 = 64;
    const CWR: u16 = 128;
    const AE: u16 = 256;
    let told = |syn_flags: u16, answer_flags: u16| {
        let mut file = File::new();
        let syn = Packet { flags: SYN | syn_flags, ack: 0, ..data(100, 0) };
        let flags = SYN | ACK | answer_flags;
        file.at(0.0, &syn);
        file.at(20.0, &Packet { from_client: false, seq: 500, ack: 101, flags, ..syn });
        file.at(20.1, &data(101, 0));
        file.at(20.2, &data(101, 1000));
        file.at(40.2, &Packet { flags: ACK | ECE | CWR, ..ack(1101, &[]) });
        file.at(40.3, &Packet { flags: ACK | ECE | CWR, ..data(1101, 1000) });
        let connection = file.connection();
        let analysis = crate::analyse(&connection);
        let ecn = Direction::BOTH.map(|way| analysis.summary(&connection, way).ecn);
        let story = explain(&connection, &analysis, Direction::Forward);
        let reduced = story.events.iter().any(|event| matches!(event, Event::Reduced { .. }));
        (handshake(&connection, &analysis).unwrap().words(), ecn, reduced)
    };
    let counter = ("opened in 0.020100 s, with Accurate ECN".to_owned(), [[0; 3]; 2], false);
    for answer in [CWR, CWR | ECE, AE, AE | CWR] {
        assert_eq!(told(AE | CWR | ECE, answer), counter, "{answer}");
    }
    let marks = ("opened in 0.020100 s".to_owned(), [[0, 1, 1]; 2], true);
    for (syn, answer) in [
        (AE | CWR | ECE, ECE),
        (AE | CWR | ECE, 0),
        (AE | CWR | ECE, AE | CWR | ECE),
        (CWR | ECE, ECE),
    ] {
        assert_eq!(told(syn, answer), marks, "{syn} {answer}");
    }
}

#[test]
fn a_retransmission_tells_what_triggered_it() {
    let mut file = File::opened();
    for number in 0..5 {
        file.at(21.0 + f64::from(number), &data(101 + 1000 * number, 1000));
    }
    file.at(41.0, &ack(101, &[(1101, 2101)]));
    file.at(42.0, &ack(101, &[(1101, 3101)]));
    file.at(43.0, &ack(101, &[(1101, 4101)]));
    file.at(43.1, &data(101, 1000));
    let story = story(&file);
    let Some(Event::Run(last)) = story.events.last() else { panic!("{story:?}") };
    assert!(last.again);
    assert_eq!(last.why, Why::Inferred(Cause::Sacked));
    let trigger = Trigger::Ack { frame: 11, ack: 1, duplicates: 3, sacked: Some(4001) };
    assert_eq!(last.trigger, Some(trigger));

    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(1021.0, &data(101, 1000));
    let story = self::story(&file);
    let Some(Event::Run(last)) = story.events.last() else { panic!("{story:?}") };
    // The only segment outstanding: a tail loss probe would look the same.
    assert_eq!(last.why, Why::Inferred(Cause::TimeoutOrProbe));
    // The handshake's ACK was the last that was heard, at 20 ms.
    let trigger = Trigger::Quiet { nanos: 1_001_000_000, acked: true };
    assert_eq!(last.trigger, Some(trigger));
}

#[test]
fn a_recorded_cause_is_told_as_such_and_names_the_limiter() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(41.0, &ack(1101, &[]));
    file.at(81.0, &data(1101, 1000));
    let mut connection = file.connection();
    for (index, cause) in [(3, SenderCause::Written), (5, SenderCause::Paced)] {
        connection.segments[index].recorded = Some(cause);
    }
    connection.segments[4].recorded = Some(SenderCause::AckTimer);
    let story = explain(&connection, &crate::analyse(&connection), Direction::Forward);
    assert!(story.recorded);
    assert_eq!(said(&story), [Said::One(Limiter::Pacer)]);
    assert!(!story.silences().last().unwrap().inferred());
    assert_eq!(story.acks.get(&Some(Class::AckDelayed)), Some(&1));
    let Some(Event::Run(last)) = story.events.last() else { panic!("{story:?}") };
    assert_eq!((last.why, last.again), (Why::Recorded(SenderCause::Paced), false));
}

#[test]
fn near_the_receiver_no_limiter_is_inferred() {
    let mut file = File::new();
    let syn = Packet { flags: SYN, ack: 0, ..data(100, 0) };
    let answer = Packet { from_client: false, seq: 500, ack: 101, flags: SYN | ACK, ..syn.clone() };
    file.at(0.0, &syn);
    file.at(0.1, &answer);
    file.at(40.0, &data(101, 0));
    file.at(40.1, &data(101, 1000));
    file.at(40.2, &ack(1101, &[]));
    file.at(80.2, &data(1101, 1000));
    assert_eq!(said(&story(&file)), [Said::Unknown(Reason::NearReceiver)]);
}

#[test]
fn sums_say_how_long_the_first_answer_took_and_add_up() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 100));
    file.at(41.0, &ack(201, &[]));
    file.at(1071.0, &Packet { from_client: false, seq: 501, ack: 201, ..data(0, 300) });
    let connection = file.connection();
    let analysis = crate::analyse(&connection);
    let sums = Direction::BOTH.map(|way| analysis.summary(&connection, way));
    assert_eq!(sums.map(|sums| sums.first_answer), [None, Some(1_050_000_000)]);
    let mut text = Vec::new();
    let totals = telling::Totals::of([&connection, &connection].into_iter());
    telling::write_totals(&totals, &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    assert!(text.starts_with("all 2 connections, 12 packets with 800 B\n"), "{text}");
}
