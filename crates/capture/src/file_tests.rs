//! Files of each form: compressed, old, and damaged.

use crate::testing::{File, SYN, ack, data, ip};
use crate::{Capture, Damage, ReadError, read};
use flate2::{Compression, write::GzEncoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::io::Write;

/// A file of some hundred packets.
fn file() -> Vec<u8> {
    let mut file = File::opened();
    for number in 0..200 {
        file.at(30.0 + f64::from(number), &data(101 + 1000 * number, 1000));
        file.at(30.5 + f64::from(number), &ack(1101 + 1000 * number, &[]));
    }
    file.bytes().to_vec()
}

const PACKETS: u64 = 403;

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    compress_to_vec(bytes, CompressionLevel::Fastest)
}

fn read_all(bytes: &[u8]) -> Capture {
    let capture = read(bytes).unwrap();
    assert_eq!((capture.counts.packets, capture.damage), (PACKETS, None));
    capture
}

#[test]
fn what_is_compressed_is_read_as_it_was() {
    let plain = file();
    let (begin, end) = plain.split_at(1000);
    for pack in [gzip, zstd] {
        read_all(&pack(&plain));
        read_all(&[pack(begin), pack(end)].concat());
    }
    read_all(&[gzip(&plain), b"zeros or a signature".to_vec()].concat());
    let skipped = [0x50, 0x2A, 0x4D, 0x18, 3, 0, 0, 0, 9, 9, 9];
    read_all(&[&zstd(begin)[..], &skipped, &zstd(end)].concat());
    read_all(&[&zstd(&plain)[..], &skipped].concat());
}

#[test]
fn what_is_compressed_and_cut_or_damaged_is_read_up_to_there() {
    let plain = file();
    for pack in [gzip, zstd] {
        let (first, second) = plain.split_at(20_000);
        let bytes = [pack(first), pack(second)].concat();
        let cut = read(&bytes[..bytes.len() - 30]).unwrap();
        assert_eq!(cut.damage, Some(Damage::Truncated));
        assert!(cut.counts.packets > 0 && cut.counts.packets <= PACKETS);
        let mut damaged = bytes.clone();
        let behind = pack(first).len();
        damaged[behind + 20] ^= 0xFF;
        assert!(read(&damaged[..]).unwrap().damage.is_some());
        assert!(matches!(read(&bytes[..5]), Err(ReadError::NoPacket)));
    }
    let mut checksum = gzip(&plain);
    let at = checksum.len() - 8;
    checksum[at] ^= 1;
    assert_eq!(read(&checksum[..]).unwrap().damage, Some(Damage::Damaged));
}

#[test]
fn what_is_compressed_otherwise_is_named() {
    for (magic, name) in [(&b"BZh91AY"[..], "bzip2"), (b"PK\x03\x04\0\0", "zip")] {
        let why = read(magic).unwrap_err().to_string();
        assert_eq!(why, format!("compressed by {name}, which is not read: decompress it first"));
    }
}

/// Counts what it is asked for, and fails at last.
struct Failing(usize);

impl std::io::Read for Failing {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let plain = file();
        let count = buffer.len().min(100).min(plain.len() - self.0);
        buffer[..count].copy_from_slice(&plain[self.0..self.0 + count]);
        self.0 += count;
        if self.0 > 5000 { Err(std::io::Error::other("the disk is gone")) } else { Ok(count) }
    }
}

#[test]
fn an_error_of_the_disk_is_none_of_the_file() {
    assert_eq!(read(Failing(0)).unwrap_err().to_string(), "the disk is gone");
}

/// A pcap file of this version whose packets have their two lengths the other way round.
fn swapped(major: u16, minor: u16, big_endian: bool) -> Vec<u8> {
    let numbers = |bytes: &[u8], size: usize| -> Vec<u8> {
        let numbers = bytes.chunks(size);
        numbers.flat_map(|it| it.iter().rev().copied().collect::<Vec<_>>()).collect()
    };
    let mut bytes = file();
    bytes[..4].copy_from_slice(&0xA1B2_C3D4_u32.to_le_bytes());
    bytes[4..6].copy_from_slice(&major.to_le_bytes());
    bytes[6..8].copy_from_slice(&minor.to_le_bytes());
    if big_endian {
        let versions = numbers(&bytes[4..8], 2);
        let head = [numbers(&bytes[..4], 4), versions, numbers(&bytes[8..24], 4)].concat();
        bytes[..24].copy_from_slice(&head);
    }
    let mut at = 24;
    while at < bytes.len() {
        let captured = u32::from_le_bytes(bytes[at + 8..at + 12].try_into().unwrap());
        bytes[at + 8..at + 16].rotate_left(4);
        if big_endian {
            let header = numbers(&bytes[at..at + 16], 4);
            bytes[at..at + 16].copy_from_slice(&header);
        }
        at += 16 + captured as usize;
    }
    bytes
}

#[test]
fn old_files_have_their_lengths_the_other_way_round() {
    let segments = |bytes: &[u8]| -> Vec<(u32, u32)> {
        let connections = read_all(bytes).connections;
        connections[0].segments.iter().map(|it| (it.seq, it.len)).collect()
    };
    let expected = segments(&file());
    for (major, minor) in [(2, 2), (2, 0), (543, 0), (2, 3)] {
        for big_endian in [false, true] {
            let bytes = swapped(major, minor, big_endian);
            assert_eq!(segments(&bytes), expected, "{major}.{minor}");
        }
    }
    let mut right = file();
    right[6] = 3;
    assert_eq!(segments(&right), expected, "2.3, and not swapped");
    let old = swapped(2, 2, false);
    let cut = read(&old[..old.len() - 3]).unwrap();
    assert_eq!((cut.counts.packets, cut.damage), (PACKETS - 1, Some(Damage::Truncated)));
}

/// A pcapng block, little-endian.
fn block(kind: u32, words: &[u32], bytes: &[u8]) -> Vec<u8> {
    let mut body: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    let len = (body.len() as u32 + 12).to_le_bytes();
    [&kind.to_le_bytes()[..], &len, &body, &len].concat()
}

/// The time of a packet of an interface with these options, in either byte order.
fn time(options: &[(u16, &[u8])], units: u64, big_endian: bool) -> Result<i64, ReadError> {
    let short = |it: u16| if big_endian { it.to_be_bytes() } else { it.to_le_bytes() };
    let long = |it: u32| if big_endian { it.to_be_bytes() } else { it.to_le_bytes() };
    let block = |kind: u32, mut body: Vec<u8>| -> Vec<u8> {
        body.resize(body.len().next_multiple_of(4), 0);
        let len = long(body.len() as u32 + 12);
        [&long(kind)[..], &len, &body, &len].concat()
    };
    let section = [long(0x1A2B_3C4D).as_slice(), &short(1), &short(0), &[255; 8]].concat();
    let mut interface = [&short(101)[..], &[0; 6]].concat();
    for (code, value) in options {
        interface.extend([short(*code), short(value.len() as u16)].concat());
        interface.extend(*value);
        interface.resize(interface.len().next_multiple_of(4), 0);
    }
    let packet = ip(&data(101, 10));
    let len = packet.len() as u32;
    let words = [0, (units >> 32) as u32, units as u32, len, len + 10];
    let packet = [words.map(long).concat(), packet].concat();
    let file = [block(0x0A0D_0D0A, section), block(1, interface), block(6, packet)].concat();
    Ok(read(&file[..])?.connections[0].segments[0].at)
}

#[test]
fn times_are_in_the_unit_of_their_interface_and_its_byte_order() {
    for big_endian in [false, true] {
        let resolution = |it: u8, units: u64| time(&[(9, &[it])], units, big_endian);
        assert_eq!(time(&[], 7, big_endian).unwrap(), 7000);
        assert_eq!(resolution(9, 7).unwrap(), 7);
        assert_eq!(resolution(0x94, 3 << 19).unwrap(), 1_500_000_000, "2^-20 s");
        assert_eq!(resolution(0xA0, 5 << 31).unwrap(), 2_500_000_000, "2^-32 s");
        let offset = 3_600_i64;
        let offset = if big_endian { offset.to_be_bytes() } else { offset.to_le_bytes() };
        assert_eq!(time(&[(14, &offset)], 7, big_endian).unwrap(), 3_600_000_007_000);
        for none in [20, 0xC0] {
            let why = resolution(none, 7).unwrap_err().to_string();
            assert!(why.ends_with(&format!("(if_tsresol 0x{none:02x})")), "{why}");
        }
    }
}

#[test]
fn numbers_are_those_of_wireshark() {
    let section = block(0x0A0D_0D0A, &[0x1A2B_3C4D, 1, u32::MAX, u32::MAX], &[]);
    let interface = |link| block(1, &[link, 0], &[]);
    let packet = ip(&data(101, 10));
    let len = packet.len() as u32;
    let old = |interface: u32| block(2, &[9 << 16 | interface, 0, 4, len, len + 10], &packet);
    let new = block(6, &[1, 0, 5, len, len + 10], &packet);
    let custom = block(0xBAD, &[32_473, 0], &[]);
    let begin = [section, interface(1), interface(101)].concat();
    let capture =
        read(&[&begin[..], &old(1), &new, &begin, &custom, &old(1)].concat()[..]).unwrap();
    let segments = &capture.connections[0].segments;
    let seen: Vec<_> = segments.iter().map(|it| (it.frame, it.at, it.len)).collect();
    assert_eq!(seen, [(1, 4000, 10), (2, 5000, 10), (4, 4000, 10)]);
    let interfaces: Vec<u32> = capture.vias.iter().map(|via| via.interface).collect();
    assert_eq!(interfaces, [1, 3], "each section has its own");
}

#[test]
fn options_that_were_cut_off_are_said_to_be() {
    let mut file = File::new();
    let options = vec![2, 4, 5, 0xB4, 1, 3, 3, 7];
    let syn = crate::testing::Packet { flags: SYN, options, ..data(100, 0) };
    let bytes = ip(&syn);
    file.frame(0.0, &bytes[..44], bytes.len() - 44);
    file.at(1.0, &data(101, 10));
    let connection = file.connection();
    let offer = connection.offers[0];
    assert_eq!((offer.mss, offer.window_scale, offer.cut), (Some(1460), None, true));
    assert_eq!(
        connection.segments.iter().map(|it| it.options_cut).collect::<Vec<_>>(),
        [true, false]
    );
}
