//! Each kind of layers, what is not read, and what is no layer at all.

mod stacks;

use crate::testing::File;
use crate::{Capture, Tag, Tunnel, Unread};
use proptest::prelude::*;
use stacks::{DATA, Stack, ethernet, segment};

fn capture(link: u32, frame: &[u8]) -> Capture {
    let mut file = File::with_link(link);
    file.frame(1.0, frame, 0);
    file.read()
}

#[test]
fn a_segment_is_found_in_each_kind_of_layers() {
    for (name, link, frame) in stacks::read() {
        let capture = capture(link, &frame);
        assert_eq!((capture.counts.tcp, capture.unread.len()), (1, 0), "{name}");
        let segment = capture.connections[0].segments[0];
        assert_eq!((segment.seq, segment.len), (101, u32::from(DATA)), "{name}");
    }
}

#[test]
fn what_is_not_read_has_a_name() {
    for (name, link, frame) in stacks::unread() {
        let unread = capture(link, &frame).unread;
        let names: Vec<String> = unread.keys().map(Unread::to_string).collect();
        assert_eq!(names, [name]);
    }
    for (name, link, frame) in stacks::nothing() {
        let capture = capture(link, &frame);
        assert_eq!((capture.counts.tcp, capture.unread.len()), (0, 0), "{name}");
    }
}

#[test]
fn a_header_that_is_not_whole_is_not_nothing() {
    let mut file = File::new();
    let packet = segment();
    file.frame(1.0, &packet[..39], packet.len() - 39);
    assert_eq!(file.read().unread, [(Unread::Header, 1)].into());
}

#[test]
fn a_place_is_what_stands_around() {
    let tags = |name: &str| {
        let (_, link, frame) = stacks::read().into_iter().find(|it| it.0 == name).unwrap();
        capture(link, &frame).vias[0].tags.clone()
    };
    assert_eq!(tags("VLANs"), [9, 8, 7].map(Tag::Vlan));
    assert_eq!(tags("802.1ah"), [Tag::Vlan(9), Tag::Service(0x0001_0005 & 0xFF_FFFF)]);
    assert_eq!(tags("LINUX_SLL2"), [Tag::Device(3)]);
    assert_eq!(tags("ERSPAN II"), [Tag::Tunnel(Tunnel::Mirror)]);
    assert_eq!(tags("VXLAN in VLAN in GRE"), [Tag::Tunnel(Tunnel::Gre), Tag::Vlan(3), Tag::Vni(5)]);
}

#[test]
fn places_are_numbered_in_a_file() {
    let mut file = File::with_link(1);
    for vlan in [7, 8, 7, 0] {
        file.frame(1.0, &ethernet(0x8100, &[&[0, vlan, 8, 0], &segment()[..]].concat()), 0);
    }
    file.frame(1.0, &ethernet(0x0800, &segment()), 0);
    let capture = file.read();
    let vias: Vec<u16> = capture.connections[0].segments.iter().map(|it| it.via).collect();
    assert_eq!(vias, [0, 1, 0, 2, 3]);
    let same = |a: usize, b: usize| capture.vias[a].same_network(&capture.vias[b]);
    assert!(!same(0, 1) && !same(0, 3) && same(2, 3));
}

#[test]
fn layers_upon_layers_end() {
    let mut frame = segment();
    for _ in 0..40 {
        frame = stacks::ipv4(4, &frame);
    }
    assert_eq!(capture(101, &frame).counts.tcp, 0);
    let tags = [0x81, 0, 0x81, 0].repeat(100);
    assert_eq!(capture(1, &tags).counts.tcp, 0);
    let labels = ethernet(0x8847, &[0; 400]);
    assert_eq!(capture(1, &labels).counts.tcp, 0);
}

/// All frames above.
fn all() -> Vec<Stack> {
    [stacks::read(), stacks::unread(), stacks::nothing()].concat()
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for link in 0..300 {
            capture(link, &bytes);
        }
    }

    #[test]
    fn no_change_of_layers_makes_it_panic(
        cut in 0_usize..120,
        changes in prop::collection::vec((0_usize..120, any::<u8>()), 0..6),
    ) {
        for (_, link, mut frame) in all() {
            for &(at, value) in &changes {
                if let Some(byte) = frame.get_mut(at) {
                    *byte = value;
                }
            }
            frame.truncate(frame.len().saturating_sub(cut));
            let mut file = File::with_link(link);
            file.frame(1.0, &frame, cut);
            file.read();
        }
    }
}
