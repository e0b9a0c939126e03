//! Routers that clear DF and cut what is too long for them, and networks that lose some of the
//! fragments.

use super::*;
use etherparse::{IpFragOffset, Ipv4HeaderSlice};

/// The longest packet that passes whole.
const MTU: usize = 1300;
/// One fragment in so many is lost.
const LOST: u32 = 41;

/// A router on each way, towards the gateway and from it.
pub(super) fn routers(dress: Dress) -> [Router; 2] {
    [0, 1].map(|_| Router { clears: matches!(dress, Dress::ClearedDf { .. }), fragments: 0 })
}

pub(super) struct Router {
    clears: bool,
    fragments: u32,
}

impl Router {
    pub(super) fn pass(&mut self, packets: Vec<Vec<u8>>) -> Vec<Vec<u8>> {
        if !self.clears {
            return packets;
        }
        let mut out = Vec::new();
        for packet in packets {
            let mut header = Ipv4HeaderSlice::from_slice(&packet).unwrap().to_header();
            let payload = &packet[header.header_len()..];
            header.dont_fragment = false;
            let size = (MTU - header.header_len()) / 8 * 8;
            let whole = payload.len() <= size;
            for (number, piece) in payload.chunks(size).enumerate() {
                let at = number * size;
                header.fragment_offset = IpFragOffset::try_new((at / 8) as u16).unwrap();
                header.more_fragments = at + piece.len() < payload.len();
                header.set_payload_len(piece.len()).unwrap();
                header.header_checksum = header.calc_header_checksum();
                self.fragments += u32::from(!whole);
                if whole || !self.fragments.is_multiple_of(LOST) {
                    out.push([&header.to_bytes()[..], piece].concat());
                }
            }
        }
        out
    }
}

/// Two hosts' segments are cut throughout, or until they have heard of it.
pub(super) fn check(dress: Dress, routers: &[Router; 2]) {
    let [fragments, _] = routers.each_ref().map(|router| router.fragments);
    match dress {
        Dress::ClearedDf { icmp: true } => assert!((1..100).contains(&fragments), "{fragments}"),
        Dress::ClearedDf { icmp: false } => assert!(fragments > 250, "{fragments}"),
        _ => assert_eq!(fragments, 0),
    }
}

/// Each lost fragment costs one segment. What is left of it is never put together with a part of
/// another: the hosts take no checksum that is wrong, and the gateway forwards nothing as if it
/// were no TCP.
#[test]
fn the_rest_of_a_segment_meets_no_other() {
    for timestamps in [true, false] {
        let summary = exchange(v4(), Dress::ClearedDf { icmp: false }, 0, timestamps);
        assert_eq!((summary.split, summary.closed), (1, 1));
        assert_eq!(summary.all_forwarded().packets, 0);
    }
}

/// Hosts hear of the router's MTU from the gateway, as from the router if that did what it should:
/// their segments are whole from then on.
#[test]
fn a_host_whose_segments_come_in_fragments_is_told() {
    let summary = exchange(v4(), Dress::ClearedDf { icmp: true }, 0, true);
    assert_eq!((summary.split, summary.closed), (1, 1));
}
