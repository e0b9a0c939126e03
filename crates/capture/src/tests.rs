//! Files of each form, damaged ones, and what is inferred of small connections.

use crate::testing::{File, SYN, ack, data, ip};
use crate::*;
use proptest::prelude::*;

fn facts(file: &File) -> Vec<Fact> {
    analyse(&file.connection()).facts
}

/// The marks of each segment behind the handshake.
fn marks(file: &File) -> Vec<Vec<&'static str>> {
    let marks =
        facts(file).into_iter().skip(3).map(|fact| fact.marks.iter().map(Mark::name).collect());
    marks.collect()
}

#[test]
fn a_handshake_is_read_with_what_it_offers() {
    let capture = File::opened().read();
    assert_eq!(capture.counts, Counts { packets: 3, tcp: 3, fragments: 0 });
    let connection = &capture.connections[0];
    assert_eq!(connection.ends.map(|end| end.to_string()), ["10.0.0.1:1000", "10.0.0.2:80"]);
    assert_eq!(connection.offers[1].mss, Some(1460));
    assert_eq!(connection.duration(), 20_100_000);
    let facts = analyse(connection).facts;
    assert_eq!(facts[1].round_trip, Some(20_000_000), "the SYN's");
    assert_eq!((facts[1].seq, facts[1].ack, facts[2].ack), (0, Some(1), Some(1)));
}

#[test]
fn a_syn_with_another_number_begins_another_connection() {
    let mut file = File::opened();
    file.at(30.0, &testing::Packet { flags: SYN, ..data(100, 0) });
    file.at(40.0, &testing::Packet { flags: SYN, ..data(7000, 0) });
    let connections = file.read().connections;
    assert_eq!(connections.iter().map(|c| c.segments.len()).collect::<Vec<_>>(), [4, 1]);
}

#[test]
fn three_duplicate_acks_make_a_fast_retransmission() {
    let mut file = File::opened();
    for number in 0..5 {
        file.at(21.0 + f64::from(number), &data(101 + 1000 * number, 1000));
    }
    file.at(41.0, &ack(101, &[]));
    for ms in 42..45 {
        file.at(f64::from(ms), &ack(101, &[]));
    }
    file.at(45.0, &data(101, 1000));
    let facts = facts(&file);
    let last = facts.last().unwrap();
    assert!(last.marks.has(Mark::FastRetransmission), "{:?}", last.marks);
    assert_eq!(last.cause, Some(Cause::DuplicateAcks));
    assert_eq!(last.outstanding.iter().max(), Some(&5000));
    assert!(facts[8].marks.has(Mark::WindowUpdate) && facts[9].marks.has(Mark::DuplicateAck));
}

#[test]
fn what_passed_before_is_sent_again_even_if_it_is_marked_as_out_of_order() {
    let mut file = File::opened();
    for number in 0..5 {
        file.at(30.0 + f64::from(number), &data(101 + 1000 * number, 1000));
    }
    for number in 3..5 {
        file.at(34.02, &ack(101, &[(1101, 101 + 1000 * number)]));
    }
    // Sooner after the newest data than a round trip, and after two duplicates: Wireshark does not
    // take it for a retransmission.
    file.at(34.05, &data(101, 1000));
    let facts = facts(&file);
    let last = facts.last().unwrap();
    assert!(last.marks.has(Mark::OutOfOrder) && !last.marks.retransmitted(), "{:?}", last.marks);
    assert_eq!(last.cause, Some(Cause::Sacked));
    // What the capture does not have before has come late.
    let mut file = File::opened();
    file.at(30.0, &data(1101, 1000));
    file.at(30.05, &data(101, 1000));
    assert_eq!(self::facts(&file).last().unwrap().cause, None);
}

#[test]
fn an_acknowledgment_ends_what_the_other_end_has_outstanding() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(22.0, &data(1101, 1000));
    file.at(41.0, &ack(1101, &[]));
    let largest = |fact: &Fact| fact.outstanding.into_iter().max().unwrap();
    let outstanding: Vec<u64> = facts(&file)[3..].iter().map(largest).collect();
    assert_eq!(outstanding, [1000, 2000, 1000]);
}

#[test]
fn sacks_behind_it_make_a_loss_and_silence_makes_a_timeout() {
    let mut file = File::opened();
    for number in 0..8 {
        file.at(21.0, &data(101 + 1000 * number, 1000));
    }
    file.at(41.0, &ack(2101, &[]));
    for end in [4101, 5101, 6101] {
        file.at(41.0 + f64::from(end) / 1e4, &ack(2101, &[(3101, end)]));
    }
    file.at(42.0, &data(2101, 1000));
    assert_eq!(facts(&file).last().unwrap().cause, Some(Cause::Sacked));

    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(41.0, &ack(1101, &[]));
    file.at(50.0, &data(1101, 1000));
    file.at(300.0, &data(1101, 1000));
    file.at(800.0, &data(1101, 1000));
    let causes: Vec<_> = facts(&file).iter().filter_map(|fact| fact.cause).collect();
    assert_eq!(causes, [Cause::TimeoutOrProbe, Cause::Timeout]);
    assert_eq!(marks(&file)[3..], [["retransmission"], ["retransmission"]]);
}

#[test]
fn data_behind_a_hole_that_was_filled_measures_no_round_trip() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(21.1, &data(1101, 1000));
    file.at(41.0, &ack(101, &[]));
    file.at(500.0, &data(101, 1000));
    file.at(520.0, &ack(2101, &[]));
    assert_eq!(facts(&file).last().unwrap().round_trip, None);
}

#[test]
fn what_was_acknowledged_is_retransmitted_without_need_and_a_dsack_says_so() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(41.0, &ack(1101, &[]));
    file.at(300.0, &data(101, 1000));
    file.at(320.0, &ack(1101, &[(101, 1101)]));
    assert_eq!(marks(&file)[2], ["spurious_retransmission"]);
    assert!(facts(&file).last().unwrap().dsack);
}

#[test]
fn windows_and_keep_alives_are_marked() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(41.0, &testing::Packet { window: 2000, ..ack(1101, &[]) });
    file.at(42.0, &data(1101, 2000));
    file.at(62.0, &testing::Packet { window: 0, ..ack(3101, &[]) });
    file.at(200.0, &data(3101, 1));
    file.at(220.0, &testing::Packet { window: 0, ..ack(3101, &[]) });
    file.at(300.0, &ack(3101, &[]));
    file.at(9000.0, &data(3100, 0));
    file.at(9020.0, &ack(3101, &[]));
    let expected: [&[&str]; 9] = [
        &[],
        &[],
        &["window_full"],
        &["zero_window"],
        &["zero_window_probe"],
        &["zero_window", "zero_window_probe_ack"],
        &["window_update"],
        &["keep_alive"],
        &["keep_alive_ack"],
    ];
    assert_eq!(marks(&file), expected);
}

#[test]
fn a_super_segment_is_several_packets() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 14_600));
    assert_eq!(facts(&file)[3].packets, 10);
}

#[test]
fn files_that_are_cut_or_nothing_say_so_in_a_line() {
    let file = File::opened();
    let cut = &file.bytes()[..file.bytes().len() - 1];
    let capture = read(cut).unwrap();
    assert_eq!((capture.damage, capture.counts.packets), (Some(Damage::Truncated), 2));
    let why = |bytes: &[u8]| read(bytes).unwrap_err().to_string();
    assert_eq!(why(&[]), "the file is empty");
    assert_eq!(
        why(b"<html>, and more of it, so that a header would fit"),
        "neither pcap nor pcapng nor qlog (as JSON text sequences)"
    );
    let xz = [0xFD, b'7', b'z', b'X', b'Z', 0, 0, 4];
    assert_eq!(why(&xz), "compressed by xz, which is not read: decompress it first");
    assert_eq!(why(&file.bytes()[..30]), "ends, or is damaged, before its first packet");
    assert_eq!(read(&file.bytes()[..24]).unwrap().counts, Counts::default());
}

/// A pcapng block.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_be_bytes().to_vec();
    let padded = body.len().next_multiple_of(4);
    let len = (padded as u32 + 12).to_be_bytes();
    bytes.extend(len);
    bytes.extend(body);
    bytes.resize(8 + padded, 0);
    bytes.extend(len);
    bytes
}

#[test]
fn pcapng_has_several_interfaces_times_and_comments() {
    // Big-endian. The first interface is Ethernet in microseconds, the second raw IP in
    // nanoseconds.
    let mut bytes = block(
        0x0A0D_0D0A,
        &[0x1A, 0x2B, 0x3C, 0x4D, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255],
    );
    bytes.extend(block(1, &[0, 1, 0, 0, 0, 0, 0, 0]));
    bytes.extend(block(1, &[0, 101, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 9, 0, 0, 0, 0, 0, 0, 0]));
    let packet = |interface: u32, time: u32, frame: &[u8], comment: &[u8]| {
        let mut body = Vec::new();
        for word in [interface, 0, time, frame.len() as u32, frame.len() as u32 + 10] {
            body.extend(word.to_be_bytes());
        }
        body.extend(frame);
        body.resize(body.len().next_multiple_of(4), 0);
        if !comment.is_empty() {
            body.extend([0, 1, 0, comment.len() as u8]);
            body.extend(comment);
            body.resize(body.len().next_multiple_of(4), 0);
            body.extend([0, 0, 0, 0]);
        }
        block(6, &body)
    };
    let mut ethernet = vec![0; 12];
    ethernet.extend([8, 0]);
    ethernet.extend(ip(&data(101, 10)));
    bytes.extend(packet(0, 3, &ethernet, b"RTO"));
    bytes.extend(packet(1, 4000, &ip(&data(111, 10)), b""));
    let capture = read(&bytes[..]).unwrap();
    let connection = &capture.connections[0];
    assert_eq!(connection.segments.iter().map(|s| s.at).collect::<Vec<_>>(), [3000, 4000]);
    assert_eq!(connection.comments[&0], "RTO");
    assert_eq!(capture.damage, None);
}

#[test]
fn the_graph_for_xplot_has_what_happened() {
    let mut file = File::opened();
    file.at(21.0, &data(101, 1000));
    file.at(22.0, &data(1101, 1000));
    file.at(41.0, &ack(101, &[(1101, 2101)]));
    file.at(500.0, &data(101, 1000));
    let connection = file.connection();
    let graph = xpl::write(&connection, &analyse(&connection), Direction::Forward);
    let lines: Vec<&str> = graph.lines().collect();
    assert_eq!(
        lines[..3],
        ["timeval double", "title", "10.0.0.1:1000_==>_10.0.0.2:80 (time sequence graph)"]
    );
    assert!(graph.contains("white\ndarrow 0.021000000 1\nuarrow 0.021000000 1001\n"));
    assert!(graph.contains("purple\nline 0.041000000 1001 0.041000000 2001\n"));
    assert!(
        graph.contains("red\ndarrow 0.500000000 1\n")
            && graph.contains("atext 0.500000000 1001\nR\n")
    );
    assert!(graph.contains("yellow\nline") && graph.contains("green\nline"));
    assert_eq!(lines.last(), Some(&"go"));
}

#[test]
fn the_page_has_a_column_for_each_fact() {
    let connection = File::opened().connection();
    let graph = page::Graph {
        file: "a.pcap".into(),
        connection: &connection,
        direction: Direction::Forward,
        series: Vec::new(),
    };
    let text = page::write("a.pcap", &[graph], false);
    assert!(text.contains("\"count\":3") && text.contains("\"columns\":{\"time\":\""));
    assert!(!text.contains("http://") && !text.contains("https://"), "it needs nothing else");
}

proptest! {
    #[test]
    fn no_file_makes_it_panic(
        cut in 0_usize..2000,
        changes in prop::collection::vec((24_usize..2000, any::<u8>()), 0..40),
    ) {
        let mut file = File::opened();
        for number in 0..12_u32 {
            file.at(30.0 + f64::from(number), &data(101 + 500 * (number % 5), 1000));
            file.at(31.0 + f64::from(number), &ack(101 + 700 * number, &[(3101, 4101), (9, 7)]));
        }
        let mut bytes = file.bytes().to_vec();
        for (at, value) in changes {
            if let Some(byte) = bytes.get_mut(at) {
                *byte = value;
            }
        }
        bytes.truncate(bytes.len().saturating_sub(cut).max(24));
        if let Ok(capture) = read(&bytes[..]) {
            for connection in &capture.connections {
                let analysis = analyse(connection);
                for direction in Direction::BOTH {
                    let _ = analysis.summary(connection, direction);
                    let _ = xpl::write(connection, &analysis, direction);
                }
                let graph = page::Graph { file: String::new(), connection, direction: Direction::Backward, series: Vec::new() };
                let _ = page::write("", &[graph], false);
            }
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&bytes[..]);
        for link in [0, 1, 101, 108, 113, 276] {
            let mut file = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0];
            file.extend([0; 12]);
            file.extend((link as u32).to_le_bytes());
            file.extend([0; 8]);
            file.extend((bytes.len() as u32).to_le_bytes());
            file.extend((bytes.len() as u32).to_le_bytes());
            file.extend(&bytes);
            let capture = read(&file[..]).unwrap();
            capture.connections.iter().for_each(|connection| drop(analyse(connection)));
        }
    }
}
