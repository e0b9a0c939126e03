//! From the SYN to the client's acknowledgment of the SYN-ACK: both are relayed, with the same
//! sequence numbers, and options are added and taken off on the way.

use super::early::Unconfirmed;
use super::leg::{CLIENT, Handshake, Leg, SERVER};
use super::split::{Added, Split};
use crate::Side;
use crate::announce::Announcement;
use crate::config::{self, AddOptions, Config};
use bentpipe_core::tcp::buffer::Buffer;
use bentpipe_core::tcp::tcb::TimestampClock;
use bentpipe_core::time::Instant;
use bentpipe_core::wire::{Flags, IpHeader, TcpHeader, TcpOptions, Timestamps};

/// A segment of the handshake on its way to the other side.
pub(crate) type Relay = (IpHeader, TcpHeader);

/// The window shift that we offer where the host offers none: 16 MiB.
const OUR_WINDOW_SHIFT: u8 = 8;

/// The client's SYNs up to this one carry what we add; later ones go out bare, in case that
/// something on the way does not let our options pass.
const DECORATED_SYNS: u32 = 2;

/// A handshake under way.
#[derive(Debug)]
pub(crate) struct Opening {
    syn_in: TcpHeader,
    /// The SYN that we sent, with all that any attempt of it offered.
    syn_out: TcpHeader,
    /// What the peer gateway says it added to the SYN that came.
    peer_added: Option<Announcement>,
    syns: u32,
    syn_sent_at: Instant,
    syn_ip: IpHeader,
    answer: Option<Answer>,
    pub(crate) deadline: Instant,
}

/// The server's SYN-ACK.
#[derive(Debug)]
struct Answer {
    synack_in: TcpHeader,
    synack_out: TcpHeader,
    ip: IpHeader,
    came_at: Instant,
    sent_at: Instant,
    times: u32,
    /// A gateway on the way has announced itself.
    by_gateway: bool,
}

/// Whether options may be added towards `to`.
fn may_add(config: &Config, to: Side, peer_known: bool) -> bool {
    to == Side::Satellite
        && match config.add_options {
            AddOptions::KnownPeer => peer_known,
            AddOptions::Always => true,
            AddOptions::Never => false,
        }
}

impl Opening {
    /// Takes the client's first SYN and says what to send on.
    pub(crate) fn new(
        now: Instant,
        config: &Config,
        from: Side,
        peer_known: bool,
        ip: &IpHeader,
        syn: &TcpHeader,
    ) -> (Opening, Relay) {
        let peer_added = Announcement::find(&syn.options).filter(|_| from == Side::Satellite);
        let mut syn_in = syn.clone();
        Announcement::strip(&mut syn_in.options);
        let mut syn_out = syn_in.clone();
        // ECE and CWR would negotiate ECN, which our legs do not speak.
        syn_out.flags = Flags::SYN;
        syn_out.window = syn.window.min(own_window(config));
        clamp_mss(config, from.other(), ip, &mut syn_out);
        if let Some(added) = peer_added {
            added.take_off(&mut syn_out.options);
        }
        if may_add(config, from.other(), peer_known) {
            add_missing(now, &mut syn_out);
        }
        let mut opening = Opening {
            syn_in,
            syn_out,
            peer_added,
            syns: 0,
            syn_sent_at: now,
            syn_ip: *ip,
            answer: None,
            deadline: now + config.open_timeout,
        };
        let relay = opening.relay_syn(now, config, from, ip, syn);
        (opening, relay)
    }

    /// Whether `tcp` is the SYN of this handshake once more.
    pub(crate) fn is_repeated_syn(&self, tcp: &TcpHeader) -> bool {
        tcp.has(Flags::SYN) && !tcp.has(Flags::ACK) && tcp.seq == self.syn_in.seq
    }

    /// The SYN, as this attempt sends it on.
    pub(crate) fn relay_syn(
        &mut self,
        now: Instant,
        config: &Config,
        from: Side,
        ip: &IpHeader,
        tcp: &TcpHeader,
    ) -> Relay {
        self.syns += 1;
        if self.syn_out.options.timestamps.is_some()
            && !self.added().timestamps
            && tcp.options.timestamps.is_some()
        {
            // The echo tells the client which of its SYNs was answered. A SYN that comes again
            // without timestamps takes nothing back: the server may have answered an earlier one.
            self.syn_out.options.timestamps = tcp.options.timestamps;
        }
        self.syn_sent_at = now;
        self.deadline = now + config.open_timeout;
        self.syn_ip = without_ecn(ip);
        let mut syn = self.syn_out.clone();
        if self.syns > DECORATED_SYNS {
            self.added().take_off(&mut syn.options);
        } else if from.other() == Side::Satellite && config.announce {
            let takes_early_data = config.handshake == config::Handshake::DownstreamFirst;
            let added = Announcement { takes_early_data, ..self.added() };
            if !added.put(&mut syn.options) && added.any() {
                // Without the announcement nobody would take the added options off again.
                added.take_off(&mut syn.options);
            }
        }
        (self.syn_ip, syn)
    }

    /// Which options we have added to the SYN.
    fn added(&self) -> Announcement {
        let (came, sent) = (&self.syn_in.options, &self.syn_out.options);
        let own = self.peer_added.unwrap_or_default();
        Announcement {
            window_scale: sent.window_scale.is_some()
                && (came.window_scale.is_none() || own.window_scale),
            sack: sent.sack_permitted && (!came.sack_permitted || own.sack),
            timestamps: sent.timestamps.is_some() && (came.timestamps.is_none() || own.timestamps),
            takes_early_data: false,
        }
    }

    /// Which options the legs will have that a host did not offer.
    fn added_in_all(&self, answer: &Answer) -> Added {
        // The announcement in the SYN-ACK says that a gateway took ours off again.
        let (ours, theirs) = (self.added(), self.peer_added.unwrap_or_default());
        match (ours.any(), theirs.any()) {
            (false, false) => Added::Nothing,
            (true, _) if !answer.by_gateway => Added::ToHost,
            _ => Added::ToGateway,
        }
    }

    /// Takes a SYN-ACK and says what to send on to the client; None if it is not of this
    /// handshake. Sets `peer_known` if another gateway has answered.
    pub(crate) fn on_synack(
        &mut self,
        now: Instant,
        config: &Config,
        sides: [Side; 2],
        peer_known: &mut bool,
        ip: &IpHeader,
        synack: &TcpHeader,
    ) -> Option<Relay> {
        if synack.ack != self.syn_in.seq + 1 {
            return None;
        }
        if let Some(answer) = &mut self.answer {
            if answer.synack_in.seq != synack.seq {
                return None;
            }
            answer.times += 1;
            answer.sent_at = now;
            return Some((answer.ip, answer.synack_out.clone()));
        }
        let announced =
            Announcement::find(&synack.options).filter(|_| sides[SERVER] == Side::Satellite);
        *peer_known |= announced.is_some();
        let mut synack_in = synack.clone();
        Announcement::strip(&mut synack_in.options);
        let mut out = synack_in.clone();
        out.flags = Flags::SYN | Flags::ACK;
        out.window = synack.window.min(own_window(config));
        clamp_mss(config, sides[CLIENT], ip, &mut out);
        // What only our own additions brought about, the client must not see.
        self.added().take_off(&mut out.options);
        if let Some(added) = self.peer_added.filter(|_| sides[CLIENT] == Side::Satellite) {
            let accepted = accept(now, added, &self.syn_in, &mut out);
            accepted.put(&mut out.options);
        }
        let ip = without_ecn(ip);
        self.deadline = now + config.open_timeout;
        let synack_out = out.clone();
        self.answer = Some(Answer {
            synack_in,
            synack_out,
            ip,
            came_at: now,
            sent_at: now,
            times: 1,
            by_gateway: announced.is_some(),
        });
        Some((ip, out))
    }

    /// Whether `tcp`, from the client, acknowledges the SYN-ACK.
    pub(crate) fn completes(&self, tcp: &TcpHeader) -> bool {
        let Some(answer) = &self.answer else { return false };
        tcp.has(Flags::ACK)
            && !tcp.has(Flags::SYN)
            && !tcp.has(Flags::RST)
            && tcp.ack == answer.synack_in.seq + 1
            && tcp.seq.distance_from(self.syn_in.seq + 1) >= 0
            && tcp.seq.distance_from(self.syn_in.seq + 1) <= i32::from(u16::MAX)
    }

    /// Whether a RST from `leg` ends this handshake.
    pub(crate) fn refused_by(&self, leg: usize, tcp: &TcpHeader) -> bool {
        if leg == SERVER {
            tcp.has(Flags::ACK) && tcp.ack == self.syn_in.seq + 1
        } else {
            tcp.seq == self.syn_in.seq + 1 || tcp.seq == self.syn_in.seq
        }
    }

    /// Whether `tcp` is data that the server sends before the client has acknowledged the SYN-ACK:
    /// a gateway on the way has done so.
    pub(crate) fn is_early_data(&self, tcp: &TcpHeader, len: usize) -> bool {
        let begins = self.answer.as_ref().map(|answer| answer.synack_in.seq + 1);
        len > 0
            && tcp.ack == self.syn_in.seq + 1
            && begins.is_some_and(|begins| tcp.seq.distance_from(begins) >= 0)
    }

    /// The handshake is complete, by the client's `ack` or because the server is not to wait for
    /// it: makes the legs.
    pub(crate) fn complete<B: Buffer>(
        &self,
        now: Instant,
        config: &Config,
        sides: [Side; 2],
        ack: Option<&TcpHeader>,
    ) -> Split<B> {
        let answer = self.answer.as_ref().expect("there is a SYN-ACK");
        let stamped = |tcp: &TcpHeader| tcp.options.timestamps.map(|ts| ts.value);
        let client_shift = match answer.synack_out.options.window_scale {
            Some(_) => self.syn_in.options.window_scale.unwrap_or(0),
            None => 0,
        };
        let client = Handshake {
            ours: &answer.synack_out,
            theirs: &self.syn_in,
            // A SYN's window is not scaled (RFC 7323, 2.2).
            window: match ack {
                Some(ack) => u64::from(ack.window) << client_shift,
                None => u64::from(self.syn_in.window),
            },
            relayed: stamped(&answer.synack_in),
            rtt: (answer.times == 1 && ack.is_some()).then(|| now.saturating_since(answer.sent_at)),
            ip: answer.ip,
        };
        let server = Handshake {
            ours: &self.syn_out,
            theirs: &answer.synack_in,
            window: u64::from(answer.synack_in.window),
            // That of the client's last SYN, which the server may have answered.
            relayed: stamped(&self.syn_in).and(stamped(&self.syn_out)),
            rtt: (self.syns == 1).then(|| answer.came_at.saturating_since(self.syn_sent_at)),
            ip: self.syn_ip,
        };
        let legs = [
            Leg::new(now, config, sides[CLIENT], &client),
            Leg::new(now, config, sides[SERVER], &server),
        ];
        let unconfirmed = ack.is_none().then(|| {
            let takes_early_data = self.peer_added.is_some_and(|peer| peer.takes_early_data);
            let synack = (answer.ip, answer.synack_out.clone());
            Unconfirmed::new(now, self.syn_in.seq, synack, config.open_timeout)
                .with_early_data(takes_early_data)
        });
        Split::new(now, config, legs, self.added_in_all(answer), unconfirmed)
    }
}

/// Lowers the MSS option of what goes to `to`. A host that has sent none is content with 536.
fn clamp_mss(config: &Config, to: Side, ip: &IpHeader, tcp: &mut TcpHeader) {
    if let (Some(mss), Some(limit)) = (&mut tcp.options.mss, config.mss_limit(to, ip)) {
        *mss = limit.min(*mss);
    }
}

/// Adds to a SYN what the satellite leg wants and the client did not offer.
fn add_missing(now: Instant, syn: &mut TcpHeader) {
    // The clock that the leg goes on with, lest the peer hold what follows old (RFC 7323, 5.3).
    let value = TimestampClock::Own(syn.seq.0).value(now);
    let options = &mut syn.options;
    options.window_scale.get_or_insert(OUR_WINDOW_SHIFT);
    options.sack_permitted = true;
    options.timestamps.get_or_insert(Timestamps { value, echo: 0 });
    if !options.fits() {
        options.timestamps = None;
    }
}

/// Accepts towards the peer gateway what it added to the SYN and the server did not answer.
fn accept(
    now: Instant,
    offered: Announcement,
    syn: &TcpHeader,
    synack: &mut TcpHeader,
) -> Announcement {
    let value = TimestampClock::Own(synack.seq.0).value(now);
    let options: &mut TcpOptions = &mut synack.options;
    let accepted = Announcement {
        window_scale: offered.window_scale && options.window_scale.is_none(),
        sack: offered.sack && !options.sack_permitted,
        timestamps: offered.timestamps && options.timestamps.is_none(),
        takes_early_data: false,
    };
    if accepted.window_scale {
        options.window_scale = Some(OUR_WINDOW_SHIFT);
    }
    options.sack_permitted |= accepted.sack;
    if let Some(theirs) = syn.options.timestamps.filter(|_| accepted.timestamps) {
        options.timestamps = Some(Timestamps { value, echo: theirs.value });
    }
    accepted
}

/// The largest window field that we let a SYN promise on our behalf.
fn own_window(config: &Config) -> u16 {
    u16::try_from(config.stream_capacity.count()).unwrap_or(u16::MAX)
}

fn without_ecn(ip: &IpHeader) -> IpHeader {
    IpHeader { traffic_class: ip.traffic_class & !IpHeader::ECN_MASK, ..*ip }
}
