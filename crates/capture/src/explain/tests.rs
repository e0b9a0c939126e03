//! Stories of small connections.

use super::*;
use crate::testing::{File, ack, data};

fn story(file: &File) -> Story {
    let connection = file.connection();
    explain(&connection, &crate::analyse(&connection), Direction::Forward)
}

fn limiters(story: &Story) -> Vec<(Limiter, bool)> {
    story.silences().map(|silence| (silence.limiter, silence.inferred)).collect()
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
    let [Event::Run(first), Event::Silence(silence), Event::Run(_)] = &story.events[..] else {
        panic!("{story:?}");
    };
    assert_eq!((first.segments, first.bytes, first.seq), (4, 5840, (1, 5841)));
    assert_eq!((first.why, first.trigger), (Why::New, None));
    assert_eq!((silence.limiter, silence.inferred), (Limiter::CongestionWindow, true));
    assert_eq!(silence.end - silence.begin, 20_300_000);
    assert!(!story.recorded);
}

#[test]
fn silences_have_the_limiter_that_the_capture_shows() {
    // All is acknowledged, and long after that something is written.
    let mut file = File::opened();
    file.at(21.0, &data(101, 1460));
    file.at(41.0, &ack(1561, &[]));
    file.at(541.0, &data(1561, 1460));
    assert_eq!(limiters(&story(&file)), [(Limiter::Application, true)]);

    // The peer's window is full, and opens.
    let mut file = File::opened();
    let small = crate::testing::Packet { window: 1000, ..ack(101, &[]) };
    file.at(20.2, &small);
    file.at(21.0, &data(101, 1000));
    file.at(41.0, &crate::testing::Packet { window: 0, ..ack(1101, &[]) });
    file.at(91.0, &ack(1101, &[]));
    file.at(91.1, &data(1101, 1000));
    assert_eq!(limiters(&story(&file)), [(Limiter::PeerWindow, true)]);

    // A short segment waits for the ACK of the one before.
    let mut file = File::opened();
    file.at(21.0, &data(101, 100));
    file.at(61.0, &ack(201, &[]));
    file.at(61.1, &data(201, 100));
    assert_eq!(limiters(&story(&file)), [(Limiter::Nagle, true)]);
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
    assert_eq!(last.why, Why::Inferred(Cause::Timeout));
    // The handshake's ACK was the last that was heard, at 20 ms.
    assert_eq!(last.trigger, Some(Trigger::Quiet(1_001_000_000)));
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
    assert_eq!(limiters(&story), [(Limiter::Pacer, false)]);
    assert_eq!(story.acks.get(&Some(Class::AckDelayed)), Some(&1));
    let Some(Event::Run(last)) = story.events.last() else { panic!("{story:?}") };
    assert_eq!((last.why, last.again), (Why::Recorded(SenderCause::Paced), false));
}

#[test]
fn near_the_receiver_no_limiter_is_inferred() {
    let mut file = File::new();
    let syn = crate::testing::Packet { flags: crate::testing::SYN, ack: 0, ..data(100, 0) };
    let answer = crate::testing::Packet {
        from_client: false,
        seq: 500,
        ack: 101,
        flags: crate::testing::SYN | crate::testing::ACK,
        ..syn.clone()
    };
    file.at(0.0, &syn);
    file.at(0.1, &answer);
    file.at(40.0, &data(101, 0));
    file.at(40.1, &data(101, 1000));
    file.at(40.2, &ack(1101, &[]));
    file.at(80.2, &data(1101, 1000));
    assert_eq!(limiters(&story(&file)), [(Limiter::Unknown, true)]);
}
