//! Wrong bits in packets, which checksums find.

use crate::packet::{Body, Content, CorruptionNotice, Packet};
use bentpipe_links::DirectionPacket;

impl DirectionPacket for Packet {
    fn damage(self, place: f64) -> Result<Packet, Packet> {
        through_bytes(&self, Some(place)).ok_or(self)
    }

    #[inline]
    fn is_damaged(&self) -> bool {
        self.corruption == CorruptionNotice::Damaged
    }
}

/// Writes `packet` as bytes and reads it back, with the bit at `flip` of its length turned over;
/// None if a checksum finds that. A packet that is not of TCP has no bytes: a damaged one is
/// discarded.
///
/// # Panics
/// Without `flip`, if the packet does not come out as it went in.
pub(crate) fn through_bytes(packet: &Packet, flip: Option<f64>) -> Option<Packet> {
    let (Content::Tcp(tcp, body), Some(mut bytes)) = (&packet.content, packet.to_bytes()) else {
        return flip.is_none().then(|| packet.clone());
    };
    if let Some(place) = flip {
        let bit = (place * (bytes.len() * 8) as f64) as usize;
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    let back = match Packet::from_bytes(&bytes) {
        Ok(back) => back,
        Err(_) if flip.is_some() => return None,
        Err(error) => panic!("what we write we cannot read: {error}"),
    };
    let Content::Tcp(back_tcp, back_body) = back.content else {
        unreachable!("TCP is what was written");
    };
    assert_eq!(&back_tcp, tcp, "a round trip through bytes");
    assert_eq!(back_body.to_bytes(), body.to_bytes(), "a round trip through bytes");
    let mut arrived = packet.clone();
    if let Body::Bytes(_) = body {
        arrived.content = Content::Tcp(back_tcp, back_body);
    }
    Some(arrived)
}
