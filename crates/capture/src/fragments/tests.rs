//! Fragments in each order, copied, cut, and never whole.

use super::{Fragment, KEPT, Key, PACKETS_MAX, Reassembly};
use crate::testing::{File, Packet, data, ip};
use crate::via::Tags;
use proptest::prelude::*;

/// IPv4 fragments of a segment, each of `size` bytes of payload, with its data.
fn cut_v4(packet: &Packet, size: usize, identification: u16) -> Vec<Vec<u8>> {
    let whole = [ip(packet), vec![0xEE; usize::from(packet.len)]].concat();
    let (header, payload) = whole.split_at(20);
    let last = payload.len().div_ceil(size) - 1;
    let pieces = payload.chunks(size).enumerate();
    let fragment = |(index, piece): (usize, &[u8])| {
        let mut header = header.to_vec();
        header[2..4].copy_from_slice(&(20 + piece.len() as u16).to_be_bytes());
        header[4..6].copy_from_slice(&identification.to_be_bytes());
        let more = if index < last { 0x2000 } else { 0 };
        let place = more | (index * size / 8) as u16;
        header[6..8].copy_from_slice(&place.to_be_bytes());
        [&header, piece].concat()
    };
    pieces.map(fragment).collect()
}

/// The same in IPv6, behind options for the destination.
fn cut_v6(packet: &Packet, size: usize) -> Vec<Vec<u8>> {
    let segment = [&ip(packet)[20..], &vec![0xEE; usize::from(packet.len)]].concat();
    let payload = [&[6, 0, 1, 4, 0, 0, 0, 0], &segment[..]].concat();
    let last = payload.len().div_ceil(size) - 1;
    let pieces = payload.chunks(size).enumerate();
    let fragment = |(index, piece): (usize, &[u8])| {
        let place = (index * size) as u16 | u16::from(index < last);
        let [high, low] = place.to_be_bytes();
        let mut bytes = vec![0x60, 0, 0, 0];
        bytes.extend((8 + piece.len() as u16).to_be_bytes());
        bytes.extend([44, 64]);
        bytes.extend([0x20; 32]);
        bytes.extend([60, 0, high, low, 0, 0, 0, 9]);
        [&bytes, piece].concat()
    };
    pieces.map(fragment).collect()
}

/// Reads these frames: the frame and the length of each segment, and the number of fragments left
/// out.
fn read(frames: &[(f64, &[u8], usize)]) -> (Vec<(u32, u32)>, u64) {
    let mut file = File::new();
    for (ms, frame, more) in frames {
        file.frame(*ms, frame, *more);
    }
    let capture = file.read();
    let segments = capture.connections.iter().flat_map(|connection| &connection.segments);
    (segments.map(|it| (it.frame, it.len)).collect(), capture.counts.fragments)
}

fn at_once(frames: &[Vec<u8>]) -> (Vec<(u32, u32)>, u64) {
    read(&frames.iter().map(|frame| (1.0, &frame[..], 0)).collect::<Vec<_>>())
}

#[test]
fn the_segment_has_the_number_of_the_last_fragment() {
    for pieces in [cut_v4(&data(101, 100), 48, 7), cut_v6(&data(101, 100), 48)] {
        assert_eq!(pieces.len(), 3);
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let frames = order.map(|index: usize| pieces[index].clone());
            assert_eq!(at_once(&frames), (vec![(3, 100)], 0), "{order:?}");
        }
        let copied = [0, 0, 1, 1, 2].map(|index: usize| pieces[index].clone());
        assert_eq!(at_once(&copied), (vec![(5, 100)], 0));
        assert_eq!(at_once(&pieces[..2]), (vec![], 2), "one is missing");
    }
}

#[test]
fn a_header_in_several_fragments_is_read() {
    let packet = Packet { options: vec![8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 0], ..data(101, 3) };
    let pieces = cut_v4(&packet, 8, 7);
    let mut file = File::new();
    pieces.iter().for_each(|piece| file.frame(1.0, piece, 0));
    let segment = file.connection().segments[0];
    assert_eq!((segment.timestamps, segment.len, segment.frame), (Some((7, 9)), 3, 5));
}

#[test]
fn lengths_are_right_where_only_headers_were_captured() {
    let pieces = cut_v4(&data(101, 2000), 1480, 7);
    let cut: Vec<_> = pieces
        .iter()
        .map(|piece| (1.0, &piece[..piece.len().min(60)], piece.len().saturating_sub(60)))
        .collect();
    assert_eq!(read(&cut), (vec![(2, 2000)], 0));
}

#[test]
fn two_packets_do_not_mix() {
    let [a, b] = [7, 8].map(|identification| cut_v4(&data(101, 100), 64, identification));
    let frames = [&a[0], &b[0], &b[1], &a[1]].map(Clone::clone);
    assert_eq!(at_once(&frames), (vec![(3, 100), (4, 100)], 0));
    // An identification that comes up again is another packet's.
    let late = [(0.0, &a[0][..], 0), (31_000.0, &a[1][..], 0), (31_001.0, &a[0][..], 0)];
    assert_eq!(read(&late), (vec![(3, 100)], 1));
}

#[test]
fn fragments_that_contradict_each_other_are_left_out() {
    let pieces = cut_v4(&data(101, 100), 48, 7);
    let shorter = cut_v4(&data(101, 60), 48, 7);
    let frames = [&pieces[0], &pieces[2], &shorter[1]].map(Clone::clone);
    assert_eq!(at_once(&frames), (vec![], 3));
}

#[test]
fn waiting_is_bounded() {
    let first = |identification| cut_v4(&data(101, 100), 64, identification).remove(0);
    let flood: Vec<Vec<u8>> = (0..5000).map(first).collect();
    assert_eq!(at_once(&flood), (vec![], 5000));
    let mut reassembly = Reassembly::default();
    let unspecified = std::net::Ipv4Addr::UNSPECIFIED.into();
    for identification in 0..5000 {
        let key = Key {
            from: unspecified,
            to: unspecified,
            identification,
            protocol: 6,
            network: Tags::new(),
        };
        let fragment = Fragment { at: 0, offset: 0, more: true, len: 8, bytes: &[0; 8], ecn: 0 };
        reassembly.take(&key, &fragment, &mut |_, _, _| {});
    }
    assert!(reassembly.waiting.len() <= PACKETS_MAX && reassembly.order.len() <= PACKETS_MAX);
}

#[test]
fn fragments_of_what_holds_no_tcp_are_not_missed() {
    let mut piece = cut_v4(&data(101, 100), 64, 7).remove(0);
    piece[9] = 1;
    assert_eq!(at_once(&[piece.clone()]), (vec![], 0), "ICMP");
    piece[9] = 17;
    assert_eq!(at_once(&[piece]), (vec![], 0), "UDP");
}

proptest! {
    #[test]
    fn any_fragments_make_no_more_than_they_say(
        pieces in prop::collection::vec((0_usize..40, any::<bool>(), 0_usize..600, 0_usize..600), 0..60),
    ) {
        let mut packet = super::Packet::default();
        let bytes = [7; 600];
        for (offset, more, len, captured) in pieces {
            let (offset, bytes) = (offset * 8, &bytes[..captured.min(len)]);
            if !packet.add(&Fragment { at: 0, offset, more, len, bytes, ecn: 0 }) {
                break;
            }
            if let Some(whole) = packet.whole() {
                prop_assert!(whole.bytes.len() <= whole.len.min(KEPT));
                prop_assert!(whole.bytes.iter().all(|&byte| byte == 7));
                break;
            }
        }
    }
}
