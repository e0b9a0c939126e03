//! What passes some places of a testbed: packet sockets, and the TCP that they have seen.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use bentpipe_linux::netns::Namespace;
use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use socket2::{Domain, Protocol, Socket, Type};

use crate::toolbox::give_room;

/// Every Ethernet protocol, as `packet(7)` wants it: in network byte order.
const ETH_P_ALL: i32 = 0x0003_u16.to_be() as i32;

/// Captures on all devices of some namespaces.
pub(crate) struct Captures<const N: usize> {
    running: [thread::JoinHandle<()>; N],
    seen: [Arc<Mutex<Vec<Segment>>>; N],
    stop: &'static AtomicBool,
}

impl<const N: usize> Captures<N> {
    pub(crate) fn start(places: [&Namespace; N]) -> Captures<N> {
        let stop: &'static AtomicBool = Box::leak(Box::new(AtomicBool::new(false)));
        let seen: [Arc<Mutex<Vec<Segment>>>; N] = std::array::from_fn(|_| Arc::default());
        let running = std::array::from_fn(|number| {
            let (place, seen) = (places[number], Arc::clone(&seen[number]));
            let socket = place.run(|| {
                Socket::new(Domain::PACKET, Type::RAW, Some(Protocol::from(ETH_P_ALL)))
                    .expect("packet socket")
            });
            let socket = socket.expect("namespace");
            give_room(&socket);
            socket.set_read_timeout(Some(Duration::from_millis(50))).expect("timeout");
            thread::spawn(move || {
                let mut buffer = vec![0; 100_000];
                // Both hosts have read each other's end, so all that counts waits here at the
                // latest.
                loop {
                    match (&socket).read(&mut buffer) {
                        Ok(length) => {
                            let segment = Segment::parse(&buffer[..length]);
                            seen.lock().unwrap_or_else(PoisonError::into_inner).extend(segment);
                        }
                        Err(_) if stop.load(Ordering::Relaxed) => return,
                        Err(_) => {}
                    }
                }
            })
        });
        Captures { running, seen, stop }
    }

    /// The segments seen at each place so far, in their order.
    pub(crate) fn so_far(&self) -> [Vec<Segment>; N] {
        self.seen.each_ref().map(|seen| seen.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }

    /// The segments seen at each place, in their order.
    pub(crate) fn stop(mut self) -> [Vec<Segment>; N] {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.running {
            thread.join().expect("capture");
        }
        self.seen.each_mut().map(|seen| std::mem::take(&mut *seen.lock().expect("segments")))
    }
}

/// The options of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Options {
    pub(crate) window_scale: Option<u8>,
    pub(crate) sack_permitted: bool,
    pub(crate) timestamps: bool,
    /// One that is not in RFC 9293 or 7323 or 2018.
    pub(crate) other: bool,
}

/// A segment that was seen.
#[derive(Debug, Clone)]
pub(crate) struct Segment {
    pub(crate) ends: (SocketAddr, SocketAddr),
    pub(crate) seq: u32,
    pub(crate) ack: u32,
    pub(crate) window: u16,
    pub(crate) syn: bool,
    pub(crate) fin: bool,
    pub(crate) options: Options,
    pub(crate) payload: Vec<u8>,
}

impl Segment {
    fn parse(frame: &[u8]) -> Option<Segment> {
        let packet = SlicedPacket::from_ethernet(frame).ok()?;
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { return None };
        let (from, to): (IpAddr, IpAddr) = match &packet.net {
            Some(NetSlice::Ipv4(ip)) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            Some(NetSlice::Ipv6(ip)) => {
                (ip.header().source_addr().into(), ip.header().destination_addr().into())
            }
            _ => return None,
        };
        let mut options = Options::default();
        for option in tcp.options_iterator() {
            match option {
                Ok(TcpOptionElement::WindowScale(scale)) => options.window_scale = Some(scale),
                Ok(TcpOptionElement::SelectiveAcknowledgementPermitted) => {
                    options.sack_permitted = true;
                }
                Ok(TcpOptionElement::Timestamp(..)) => options.timestamps = true,
                Ok(_) => {}
                Err(_) => options.other = true,
            }
        }
        Some(Segment {
            ends: (
                SocketAddr::new(from, tcp.source_port()),
                SocketAddr::new(to, tcp.destination_port()),
            ),
            seq: tcp.sequence_number(),
            ack: tcp.acknowledgment_number(),
            window: tcp.window_size(),
            syn: tcp.syn(),
            fin: tcp.fin(),
            options,
            payload: tcp.payload().to_vec(),
        })
    }
}

/// One direction of a connection, as a capture shows it.
#[derive(Debug, Default)]
pub(crate) struct Stream {
    pub(crate) isn: Option<u32>,
    pub(crate) fin: Option<u32>,
    /// Payloads by their distance from the initial sequence number.
    payloads: BTreeMap<u32, Vec<u8>>,
}

impl Stream {
    pub(crate) fn seen(segments: &[Segment], from: SocketAddr, to: SocketAddr) -> Stream {
        let mut stream = Stream::default();
        for segment in segments.iter().filter(|segment| segment.ends == (from, to)) {
            let Segment { seq, payload, .. } = segment;
            if segment.syn {
                stream.isn = Some(*seq);
            }
            if segment.fin {
                stream.fin = Some(seq.wrapping_add(payload.len() as u32));
            }
            if let (Some(isn), false) = (stream.isn, payload.is_empty()) {
                let offset = seq.wrapping_sub(isn).wrapping_sub(1);
                let known = stream.payloads.entry(offset).or_default();
                if known.len() < payload.len() {
                    known.clone_from(payload);
                }
            }
        }
        stream
    }

    /// The bytes in order, up to the first gap.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for (&offset, payload) in &self.payloads {
            let known = bytes.len().saturating_sub(offset as usize);
            if offset as usize <= bytes.len() && known < payload.len() {
                bytes.extend_from_slice(&payload[known..]);
            }
        }
        bytes
    }
}
