//! Any bytes are an error or a packet, and a packet that was read can be written and read again.

use bentpipe_core::wire::{Checksum, IcmpError, Packet, TcpOptions, Verify, WireError, emit};

#[test]
fn parser() {
    bolero::check!(name = "parser")
        .with_test_time(super::BUDGET)
        .with_max_len(256)
        .for_each(|bytes: &[u8]| parse(bytes));
}

fn parse(bytes: &[u8]) {
    let _ = TcpOptions::parse(bytes);
    if let Ok(error) = IcmpError::parse(bytes) {
        assert_eq!(error.quoted.src.is_ipv4(), error.quoted.dst.is_ipv4());
    }
    let Ok(mut packet) = Packet::parse(bytes, Verify::Skip) else {
        // What cannot be read without its checksum cannot be read with it.
        assert!(Packet::parse(bytes, Verify::Full).is_err());
        return;
    };
    assert!(packet.payload.len() <= bytes.len());
    let verified = Packet::parse(bytes, Verify::Full);
    assert!(matches!(verified, Ok(_) | Err(WireError::Checksum)), "{verified:?}");
    // SACK blocks may not fit any more behind our own order and padding of options.
    if !packet.tcp.options.fits() {
        return;
    }
    packet.tcp.options.malformed = false;
    let pieces = packet.payload.split_at(packet.payload.len() / 2);
    let headers = emit(&packet.ip, &packet.tcp, [pieces.0, pieces.1].into_iter(), Checksum::Full);
    let mut again = headers.to_vec();
    again.extend_from_slice(packet.payload);
    let back = Packet::parse(&again, Verify::Full).expect("what we write we can read");
    assert_eq!((back.ip, back.tcp), (packet.ip, packet.tcp));
    assert_eq!(back.payload, packet.payload);
}
