use super::*;
use crate::units::Offset;
use proptest::prelude::*;
use std::net::IpAddr;

fn any_options() -> impl Strategy<Value = TcpOptions> {
    let block = (any::<u32>(), any::<u32>())
        .prop_map(|(l, r)| SackBlock { left: SeqNum(l), right: SeqNum(r) });
    (
        proptest::option::of(any::<u16>()),
        proptest::option::of(0u8..=14),
        any::<bool>(),
        proptest::option::of((any::<u32>(), any::<u32>())),
        proptest::collection::vec(block, 0..=4),
        proptest::collection::vec(any::<u8>(), 0..8),
        proptest::array::uniform3(proptest::option::of(any::<u32>())),
    )
        .prop_map(|(mss, window_scale, sack_permitted, ts, sack, body, counts)| {
            let mut options = TcpOptions {
                mss,
                window_scale,
                sack_permitted,
                timestamps: ts.map(|(value, echo)| Timestamps { value, echo }),
                ..TcpOptions::default()
            };
            if !options.add_experiment(0x1234, &body) {
                return options;
            }
            let [cc, cc_new, cc_echo] = counts;
            let counted = TcpOptions { cc, cc_new, cc_echo, ..options.clone() };
            if counted.fits() {
                options = counted;
            }
            for block in sack {
                options.sack.push(block);
                if !options.fits() {
                    options.sack.pop();
                }
            }
            options
        })
}

fn addresses() -> impl Strategy<Value = (IpAddr, IpAddr)> {
    prop_oneof![
        any::<([u8; 4], [u8; 4])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b))),
        any::<([u8; 16], [u8; 16])>().prop_map(|(a, b)| (IpAddr::from(a), IpAddr::from(b))),
    ]
}

proptest! {
    #[test]
    fn packets_survive_a_round_trip(
        (src, dst) in addresses(),
        (hop_limit, traffic_class) in any::<(u8, u8)>(),
        (identification, dont_fragment) in any::<(u16, bool)>(),
        ports in any::<(u16, u16)>(),
        numbers in any::<(u32, u32)>(),
        (flags, window, urgent) in any::<(u8, u16, u16)>(),
        options in any_options(),
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        cut in 0usize..200,
    ) {
        let plain = IpHeader { hop_limit, traffic_class, ..IpHeader::between(src, dst) };
        let ip = match src {
            IpAddr::V4(_) => IpHeader { identification, dont_fragment, ..plain },
            IpAddr::V6(_) => plain,
        };
        let tcp = TcpHeader {
            src_port: ports.0, dst_port: ports.1,
            seq: SeqNum(numbers.0), ack: SeqNum(numbers.1),
            flags: Flags(flags), window, urgent, options,
        };
        let pieces = payload.split_at(cut.min(payload.len()));
        let headers = emit(&ip, &tcp, [pieces.0, pieces.1].into_iter(), Checksum::Full);
        prop_assert_eq!(headers.len(), ip.wire_len() + tcp.wire_len());
        let mut bytes = headers.to_vec();
        bytes.extend_from_slice(&payload);
        let back = Packet::parse(&bytes, Verify::Full).unwrap();
        prop_assert_eq!(back.ip, ip);
        prop_assert_eq!(back.tcp, tcp);
        prop_assert_eq!(back.payload, &payload[..]);
    }

    #[test]
    fn any_bytes_are_an_error_or_a_packet_but_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..120)) {
        let _ = Packet::parse(&bytes, Verify::Skip);
        let _ = TcpOptions::parse(&bytes);
        let _ = IcmpError::parse(&bytes);
    }

    #[test]
    fn an_icmp_error_quotes_its_segment(
        (src, dst) in addresses(),
        (ports, seq, mtu, len) in any::<((u16, u16), u32, u16, u16)>(),
        // IPv4's code 4 of "unreachable" is the packet that is too big.
        unreachable in proptest::option::of(prop_oneof![0..4_u8, 5..16_u8]),
        damage in proptest::option::of(any::<u16>()),
    ) {
        let ip = IpHeader { hop_limit: 9, ..IpHeader::between(src, dst) };
        let tcp = TcpHeader {
            src_port: ports.0, dst_port: ports.1, seq: SeqNum(seq), ..TcpHeader::default()
        };
        let payload = vec![7; usize::from(len) % 3000];
        let mut packet = emit(&ip, &tcp, [&payload[..]].into_iter(), Checksum::Full).to_vec();
        packet.extend(&payload);
        let kind = match unreachable {
            Some(code) => IcmpErrorKind::Unreachable { code },
            None => IcmpErrorKind::PacketTooBig { mtu: mtu.into() },
        };
        let mut error = IcmpError::emit(kind, dst, &packet).unwrap();
        let quoted = Quoted {
            src, dst, src_port: ports.0, dst_port: ports.1, seq: SeqNum(seq),
            wire_len: packet.len(),
        };
        prop_assert_eq!(IcmpError::parse(&error), Ok(IcmpError { kind, quoted }));
        if let Some(at) = damage {
            // Behind the IP header: that is the ICMP checksum's.
            let from = ip.wire_len();
            let at = from + usize::from(at) % (error.len() - from);
            error[at] ^= 0x10;
            prop_assert!(IcmpError::parse(&error).is_err());
        }
        let cut = usize::from(len) % error.len();
        prop_assert!(IcmpError::parse(&error[..cut]).is_err());
    }

    #[test]
    fn a_checksum_of_zero_may_be_written_either_way(v6: bool, seq: u32, rest in proptest::collection::vec(any::<u8>(), 0..60)) {
        let host = |last| if v6 { IpAddr::from([9, 0, 0, 0, 0, 0, 0, last]) } else { IpAddr::from([10, 0, 0, last as u8]) };
        let ip = IpHeader::between(host(1), host(2));
        let tcp = TcpHeader { seq: SeqNum(seq), flags: Flags::ACK, ..TcpHeader::default() };
        let with = |first: [u8; 2]| {
            let payload = [&first[..], &rest].concat();
            let mut bytes = emit(&ip, &tcp, [&payload[..]].into_iter(), Checksum::Full).to_vec();
            let field = if v6 { 56..58 } else { 36..38 };
            bytes.extend(payload);
            (bytes, field)
        };
        let (bytes, field) = with([0, 0]);
        // What the rest sums up to, put there itself, leaves nothing.
        let (mut bytes, field) = with([bytes[field.start], bytes[field.start + 1]]);
        for zero in [[0, 0], [0xff, 0xff]] {
            bytes[field.clone()].copy_from_slice(&zero);
            prop_assert!(Packet::parse(&bytes, Verify::Full).is_ok(), "{zero:?}");
        }
        bytes[field].copy_from_slice(&[0, 1]);
        prop_assert_eq!(Packet::parse(&bytes, Verify::Full).unwrap_err(), WireError::Checksum);
    }

    #[test]
    fn a_rewritten_packet_reads_as_the_rewritten_header(
        (src, dst) in addresses(),
        numbers in any::<(u32, u32, u32)>(),
        windows in any::<(u16, u16)>(),
        options in any_options(),
        payload in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let ip = IpHeader::between(src, dst);
        let (seq, ack, later) = numbers;
        let tcp = TcpHeader {
            seq: SeqNum(seq), ack: SeqNum(ack), window: windows.0, flags: Flags::ACK, options,
            ..TcpHeader::default()
        };
        let ack_rewrite = AckRewrite { ack: SeqNum(later), window: windows.1 };
        let mut expected = tcp.clone();
        ack_rewrite.apply(&mut expected);
        for (checksum, verify) in
            [(Checksum::Full, Verify::Full), (Checksum::PseudoHeader, Verify::Skip)]
        {
            let mut bytes = emit(&ip, &tcp, [&payload[..]].into_iter(), checksum).to_vec();
            let headers = bytes.len();
            bytes.extend_from_slice(&payload);
            let start = headers - tcp.wire_len();
            let field = bytes[start + 16..start + 18].to_vec();
            // As in a first fragment, without what follows.
            prop_assert!(ack_rewrite.write(&mut bytes[start..headers], checksum));
            let read = Packet::parse(&bytes, verify).unwrap();
            prop_assert_eq!(&read.tcp, &expected);
            prop_assert_eq!(read.payload, &payload[..]);
            if checksum == Checksum::PseudoHeader {
                // What it sums up has not changed.
                prop_assert_eq!(&bytes[start + 16..start + 18], &field[..]);
            }
            let before = bytes.clone();
            prop_assert!(!ack_rewrite.write(&mut bytes[start..headers - 1], checksum));
            prop_assert_eq!(bytes, before);
        }
    }

    #[test]
    fn whatever_stands_in_a_header_rewriting_it_does_not_panic(
        mut bytes in proptest::collection::vec(any::<u8>(), 0..80),
    ) {
        let sound = bytes.len() > 12 && (20..=bytes.len()).contains(&(usize::from(bytes[12] >> 4) * 4));
        let rewritten = AckRewrite { ack: SeqNum(1), window: 2 }.write(&mut bytes, Checksum::Full);
        prop_assert_eq!(rewritten, sound);
    }

    #[test]
    fn a_flipped_bit_in_the_segment_is_noticed(payload in proptest::collection::vec(any::<u8>(), 1..100), bit in any::<usize>()) {
        let ip = IpHeader::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
        let tcp = TcpHeader { flags: Flags::ACK, ..TcpHeader::default() };
        let mut bytes = emit(&ip, &tcp, [&payload[..]].into_iter(), Checksum::Full).to_vec();
        bytes.extend_from_slice(&payload);
        let bit = 40 * 8 + bit % (payload.len() * 8);
        bytes[bit / 8] ^= 1 << (bit % 8);
        prop_assert_eq!(Packet::parse(&bytes, Verify::Full).unwrap_err(), WireError::Checksum);
    }

    #[test]
    fn offsets_invert_sequence_numbers(isn in any::<u32>(), offset in 0u64..1 << 40, slip in -0x4000_0000i64..0x4000_0000) {
        let seq = SeqNum(isn) + offset;
        if let Some(near) = offset.checked_add_signed(slip) {
            prop_assert_eq!(seq.offset_near(SeqNum(isn), Offset::new(near)), Some(Offset::new(offset)));
        }
    }
}

#[test]
fn experiments_are_added_found_and_removed() {
    let mut options = TcpOptions { mss: Some(1460), ..TcpOptions::default() };
    options.other.extend([30, 4, 1, 2]);
    assert!(options.add_experiment(0xBEEF, &[7]));
    assert_eq!(options.experiment(0xBEEF), Some(&[7u8][..]));
    assert_eq!(options.experiment(0xBEE0), None);
    options.remove_experiment(0xBEEF);
    assert_eq!(options.experiment(0xBEEF), None);
    assert_eq!(&options.other[..], [30, 4, 1, 2]);
}

#[test]
fn counts_are_laid_out_as_rfc_1644_has_them() {
    let options = TcpOptions { cc: Some(0x0102_0304), cc_echo: Some(5), ..TcpOptions::default() };
    let bytes = [1, 1, 11, 6, 1, 2, 3, 4, 1, 1, 13, 6, 0, 0, 0, 5];
    assert_eq!(&options.to_bytes()[..], bytes);
    assert_eq!(TcpOptions::parse(&bytes), Ok(options));
    assert_eq!(TcpOptions::parse(&[12, 5, 0, 0, 0]), Err(OptionsError::Length(12)));
}

#[test]
fn malformed_options_are_named() {
    assert_eq!(TcpOptions::parse(&[2, 3, 1]), Err(OptionsError::Length(2)));
    assert_eq!(TcpOptions::parse(&[2]), Err(OptionsError::Overrun(2)));
    assert_eq!(TcpOptions::parse(&[99, 1]), Err(OptionsError::Overrun(99)));
    assert_eq!(TcpOptions::parse(&[99, 9, 0]), Err(OptionsError::Overrun(99)));
}

#[test]
fn of_malformed_options_hosts_read_what_they_can() {
    let stamps = Some(Timestamps { value: 1, echo: 2 });
    let timestamps = [8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let read = |tail: &[u8]| TcpOptions::parse_as_hosts_do(&[&timestamps, tail].concat());
    for (tail, malformed) in [
        (&[][..], false),
        (&[1, 1], false),
        (&[0, 77], false),
        // A length of one, of nothing, and beyond the end.
        (&[99, 1], true),
        (&[99], true),
        (&[99, 9, 0, 0], true),
        (&[5, 250], true),
    ] {
        let expected = TcpOptions { timestamps: stamps, malformed, ..TcpOptions::default() };
        assert_eq!(read(tail), expected, "{tail:?}");
    }
    // One that is too short is skipped, what follows it read; behind one that runs over the end
    // nothing is.
    let skipped = TcpOptions::parse_as_hosts_do(&[&[5, 4, 0, 0][..], &timestamps].concat());
    assert_eq!((skipped.timestamps, skipped.malformed), (stamps, true));
    let hidden = TcpOptions::parse_as_hosts_do(&[&[99, 1][..], &timestamps].concat());
    assert_eq!((hidden.timestamps, hidden.malformed), (None, true));
}

#[test]
fn malformed_options_keep_back_a_syn_and_nothing_else() {
    let ip = IpHeader::between(IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]));
    for (flags, whole) in
        [(Flags::ACK, true), (Flags::SYN, false), (Flags::SYN | Flags::ACK, false)]
    {
        let options = TcpOptions { other: vec![99, 4, 0, 0], ..TcpOptions::default() };
        let tcp = TcpHeader { flags, options, ..TcpHeader::default() };
        let mut bytes = emit(&ip, &tcp, std::iter::once(&b"hello"[..]), Checksum::Full).to_vec();
        bytes.extend(b"hello");
        bytes[41] = 40;
        let parsed = Packet::parse(&bytes, Verify::Skip);
        assert_eq!(parsed.is_ok(), whole, "{flags:?}");
        if let Ok(packet) = parsed {
            assert_eq!((packet.payload, packet.tcp.options.malformed), (&b"hello"[..], true));
        }
    }
}

#[test]
fn signatures_are_known_by_their_kinds() {
    for (kind, signed) in [(19, true), (29, true), (30, false), (253, false)] {
        let options = TcpOptions::parse(&[1, kind, 4, 0, 0]).unwrap();
        assert_eq!(options.is_signed(), signed, "{kind}");
    }
    assert!(!TcpOptions::default().is_signed());
}
