//! The TCP segment in a frame: addresses, and the header by meaning.

use crate::capture::Capture;
use crate::connection::{Flags, Sack, Segment};
use crate::file::Frame;
use crate::fragments::{Fragment, Key, Reassembly};
use crate::ip;
use crate::layers::{self, Layer, Rest};
use crate::options::{self, Options};
use crate::unread::Unread;
use crate::via::{Tags, Via, Vias};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Of TCP's header without options.
const TCP_HEADER: usize = 20;
/// Layers upon layers are an attack, not a network.
const LAYERS_MAX: usize = 32;

/// A segment before its connection is known.
#[derive(Debug)]
pub(crate) struct Tcp {
    pub(crate) from: SocketAddr,
    pub(crate) to: SocketAddr,
    pub(crate) segment: Segment,
    pub(crate) mss: Option<u16>,
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) sacks: Vec<Sack>,
}

/// Reads frames, and knows what came before.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    vias: Vias,
    reassembly: Reassembly,
    /// Fragments that were given up.
    lost: u64,
    unread: BTreeMap<Unread, u64>,
}

/// A frame on the way to its innermost layer.
struct Descent<'a> {
    frame: &'a Frame<'a>,
    /// Tags and tunnels on the way.
    tags: Tags,
    /// The innermost IP packet, from its header on.
    ip: &'a [u8],
    /// ECN's codepoint of a packet that was put together.
    ecn: Option<u8>,
    /// Layers that it may still have.
    left: usize,
}

impl Decoder {
    /// The places that were seen until now, by their numbers.
    pub(crate) fn vias(&self) -> &[Via] {
        &self.vias.all
    }

    /// The TCP segment in a frame, with sequence numbers as on the wire. Of a packet in fragments
    /// it comes with the last of them.
    pub(crate) fn decode(&mut self, frame: &Frame<'_>) -> Option<Box<Tcp>> {
        let rest = Rest::new(frame.bytes, frame.len as usize);
        let mut descent =
            Descent { frame, tags: Tags::new(), ip: &[], ecn: None, left: LAYERS_MAX };
        // Most frames are this, and there are a million of them.
        if let Some(ip) = layers::ip_in_ethernet(frame.link, rest)
            && let Some(packet) = ip::read(ip)
            && let (layers::TCP, None) = (packet.protocol, &packet.part)
        {
            descent.ip = ip.bytes;
            return self.segment(&descent, packet.payload);
        }
        self.descend(&mut descent, Layer::Link(frame.link), rest)
    }

    /// Says what was not read, and by which places the segments came.
    pub(crate) fn finish(self, capture: &mut Capture) {
        let Decoder { vias, reassembly, mut lost, unread } = self;
        reassembly.finish(&mut |protocol, bytes, count| lost += missed(protocol, bytes, count));
        (capture.vias, capture.unread, capture.counts.fragments) = (vias.all, unread, lost);
    }

    fn leave(&mut self, what: Unread) -> Option<Box<Tcp>> {
        *self.unread.entry(what).or_default() += 1;
        None
    }

    fn descend<'a>(
        &mut self,
        descent: &mut Descent<'a>,
        mut layer: Layer,
        mut rest: Rest<'a>,
    ) -> Option<Box<Tcp>> {
        while descent.left > 0 {
            descent.left -= 1;
            match layer {
                Layer::Unread(what) => return self.leave(what),
                Layer::Tcp => return self.segment(descent, rest),
                Layer::Ip => {
                    let packet = ip::read(rest)?;
                    (descent.ip, descent.ecn) = (rest.bytes, None);
                    rest = packet.payload;
                    layer = match packet.protocol {
                        protocol if packet.part.is_some() && layers::carries(protocol) => {
                            return self.fragment(descent, &packet);
                        }
                        layers::TCP => Layer::Tcp,
                        protocol => Layer::Protocol(protocol),
                    };
                }
                _ => (layer, rest) = layers::next(layer, rest, &mut descent.tags)?,
            }
        }
        None
    }

    /// Waits for the rest of a packet, or goes on with all of it. Its segment has the number and
    /// the moment of the last fragment.
    fn fragment(&mut self, descent: &Descent<'_>, packet: &ip::Packet<'_>) -> Option<Box<Tcp>> {
        let (header, part) = (ip::header(descent.ip)?, packet.part?);
        let key = Key {
            from: header.from,
            to: header.to,
            identification: part.identification,
            protocol: packet.protocol,
            network: descent.tags.iter().copied().filter(|tag| tag.is_network()).collect(),
        };
        let fragment = Fragment {
            at: descent.frame.at,
            offset: part.offset,
            more: part.more,
            len: packet.payload.wire,
            bytes: packet.payload.bytes,
            ecn: header.ecn,
        };
        let lost = &mut self.lost;
        let whole = self.reassembly.take(&key, &fragment, &mut |protocol, bytes, count| {
            *lost += missed(protocol, bytes, count);
        })?;
        let rest = Rest::new(&whole.bytes, whole.len);
        let inner = ip::behind_extensions(packet.protocol, rest)?;
        let &Descent { frame, ref tags, ip, ecn: _, left } = descent;
        let mut descent = Descent { frame, tags: tags.clone(), ip, ecn: Some(whole.ecn), left };
        match inner.part {
            None => self.descend(&mut descent, Layer::Protocol(inner.protocol), inner.payload),
            // A fragment of a fragment is none.
            Some(_) => None,
        }
    }

    fn segment(&mut self, descent: &Descent<'_>, rest: Rest<'_>) -> Option<Box<Tcp>> {
        let (frame, ip) = (descent.frame, ip::header(descent.ip)?);
        let Some((header, captured)) = rest.bytes.split_first_chunk::<TCP_HEADER>() else {
            return self.leave(Unread::Header);
        };
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let long = |at: usize| u32::from(word(at)) << 16 | u32::from(word(at + 2));
        let header_len = usize::from(header[12] >> 4) * 4;
        let lens = (rest.wire.checked_sub(header_len), header_len.checked_sub(TCP_HEADER));
        let (Some(len), Some(options_len)) = lens else {
            return self.leave(Unread::Header);
        };
        let Options { mss, window_scale, sack_permitted, timestamps, sacks, cut } =
            options::read(captured, options_len);
        Some(Box::new(Tcp {
            from: SocketAddr::new(ip.from, word(0)),
            to: SocketAddr::new(ip.to, word(2)),
            segment: Segment {
                at: frame.at,
                frame: frame.number,
                seq: long(4),
                ack: long(8),
                len: u32::try_from(len).ok()?,
                window: word(14),
                flags: Flags::from_bits(word(12) & 0x01FF),
                ip_id: ip.identification,
                ttl: ip.ttl,
                ecn: descent.ecn.unwrap_or(ip.ecn),
                via: self.vias.number(frame.interface, &descent.tags),
                options_cut: cut,
                timestamps,
                ..Segment::default()
            },
            mss,
            window_scale,
            sack_permitted,
            sacks,
        }))
    }
}

/// Counts the fragments that may have held TCP: of UDP only those of a tunnel.
fn missed(protocol: u8, bytes: &[u8], fragments: u64) -> u64 {
    let rest = Rest::new(bytes, bytes.len());
    let tunnel = || layers::next(Layer::Udp, rest, &mut Tags::new()).is_some();
    if protocol != layers::UDP || tunnel() { fragments } else { 0 }
}
