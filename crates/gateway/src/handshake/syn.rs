//! A client's SYN until its SYN-ACK comes, in as few bytes as will do: anybody can send SYNs in
//! anybody's name (RFC 4987), and each of them is kept for a while.
//!
//! Addresses and ports are in the table's key. A SYN with an option that has no place here is not
//! split, and fields without a meaning in a SYN (the acknowledgment, the urgent pointer) go on as
//! zero.

use super::negotiated::{NegotiatedOptions, TIMESTAMPS_LEN};
use super::obstacle::Obstacle;
use crate::Side;
use crate::announce::Announcement;
use crate::config::{AddOptions, Config, Handshake};
use crate::hop_limit::HopLimit;
use crate::key::{Endpoint, FlowKey};
use crate::leg::{Leg, PerLeg};
use bentpipe_core::tcp::tcb::TimestampClock;
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader, TcpOptions, Timestamps};

/// A segment of the handshake on its way to the other side.
pub(crate) type Relay = (IpHeader, TcpHeader);

/// The window shift that we offer where the host offers none, as Linux does: 64 MiB, what a stream
/// of a link of 100 Mbit/s and 600 ms may hold, and more than what 400 Mbit/s have in flight.
pub(super) const OUR_WINDOW_SHIFT: u8 = 10;

/// The client's SYNs up to this one carry what we add; later ones go out as they came, in case that
/// something on the way does not let our options pass.
const SYNS_WITH_ADDED_OPTIONS: u8 = 2;

/// The client's SYN, and what was made of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Syn {
    /// When it was last sent on.
    sent_at: Instant,
    /// How long that was after the first one had come, in milliseconds: half of what another
    /// moment takes.
    repeated_for: u32,
    isn: SeqNum,
    /// TSval of the first one that came, if it had one.
    stamp: Option<u32>,
    /// TSval of the one that was sent on last; without a meaning if it had none.
    sent_stamp: u32,
    flow_label: u32,
    mss: Option<u16>,
    window: u16,
    /// What ours say: a promise, whatever the gateway is told until the SYN-ACK comes.
    sent_window: u16,
    shift: Option<u8>,
    sack: bool,
    hop_limit: u8,
    traffic_class: u8,
    /// How many have come.
    count: u8,
    /// What the peer gateway says it added to the SYN that came.
    peer_added: Option<Announcement>,
    /// What we added to the one that we sent on.
    added: Announcement,
    /// The client's side.
    from: Side,
    /// The client is the lower end in the flow's name.
    client_is_low: bool,
    /// Why there will be no SYN-ACK, as far as anything has shown it.
    obstacle: Option<Obstacle>,
}

// crates/gateway/tests/syn_memory.rs has what it costs with its place in the table.
const _: () = assert!(size_of::<Syn>() <= 64);

impl Syn {
    /// Takes the client's first SYN, which came in from `from`.
    pub(crate) fn new(
        now: Instant,
        config: &Config,
        from: Side,
        peer_known: bool,
        ip: &IpHeader,
        tcp: &TcpHeader,
    ) -> Syn {
        let options = &tcp.options;
        let mut syn = Syn {
            sent_at: now,
            repeated_for: 0,
            isn: tcp.seq,
            stamp: options.timestamps.map(|ts| ts.value),
            // The clock that the leg goes on with if the option is ours, lest the peer hold what
            // follows old (RFC 7323, 5.3).
            sent_stamp: TimestampClock::Own(tcp.seq.0).value(now),
            flow_label: ip.flow_label,
            mss: options.mss,
            window: tcp.window,
            sent_window: tcp.window.min(config.first_window()),
            shift: options.window_scale,
            sack: options.sack_permitted,
            hop_limit: ip.hop_limit,
            traffic_class: ip.traffic_class,
            count: 0,
            peer_added: Announcement::find(options, config.seal(tcp))
                .filter(|_| from == Side::Satellite),
            added: Announcement::default(),
            from,
            client_is_low: FlowKey::of(ip, tcp).is_low((ip.src, tcp.src_port)),
            obstacle: None,
        };
        if may_add(config, from.other(), peer_known) {
            syn.added = Announcement {
                // Only with timestamps, by whose absence a peer notices that we have left the flow:
                // the hosts would go on with windows in other units than it has them in.
                window_scale: syn.shift.is_none() && syn.stamp.is_none(),
                sack: !syn.sack,
                timestamps: syn.stamp.is_none(),
                takes_early_data: false,
            };
        }
        syn
    }

    /// The client's side, and the server's.
    pub(crate) fn sides(&self) -> PerLeg<Side> {
        PerLeg::new(self.from, self.from.other())
    }

    /// Whether `end`, one of the two of `key`, is the client's.
    pub(crate) fn is_from(&self, key: &FlowKey, end: Endpoint) -> bool {
        key.is_low(end) == self.client_is_low
    }

    /// Whether the host of `leg` goes on behind its handshake, though no SYN-ACK has come through
    /// us: the client acknowledges one, or the server what came behind the SYN. A server that was
    /// there before challenges by the number before (RFC 5961, 4.2).
    pub(crate) fn is_gone_past_by(&self, leg: Leg, tcp: &TcpHeader) -> bool {
        let behind =
            |number: SeqNum| number.0.wrapping_sub((self.isn + 1).0) <= u32::from(u16::MAX);
        match leg {
            Leg::Client => tcp.has(Flags::ACK) && behind(tcp.seq),
            Leg::Server => tcp.has(Flags::ACK) && behind(tcp.ack) && tcp.ack != self.isn + 1,
        }
    }

    /// Whether that has been seen.
    pub(crate) fn goes_one_way(&self) -> bool {
        self.obstacle == Some(Obstacle::OneWay)
    }

    /// Something shows why there will be no SYN-ACK.
    pub(crate) fn note(&mut self, obstacle: Obstacle) {
        self.obstacle = Some(obstacle);
    }

    /// Why there will be none, if anything has shown that.
    pub(crate) fn obstacle(&self) -> Option<Obstacle> {
        self.obstacle
    }

    /// The client, one of the two of `key`.
    pub(crate) fn client(&self, key: &FlowKey) -> Endpoint {
        key.end(self.client_is_low)
    }

    /// The client's initial sequence number.
    pub(crate) fn isn(&self) -> SeqNum {
        self.isn
    }

    /// TSval of the first SYN that came, if it had one.
    pub(super) fn stamp(&self) -> Option<u32> {
        self.stamp
    }

    /// The client's window shift, or that which the peer gateway has added.
    pub(super) fn shift(&self) -> Option<u8> {
        self.shift
    }

    /// What the peer gateway says it added to the SYN that came.
    pub(super) fn peer_added(&self) -> Option<Announcement> {
        self.peer_added
    }

    /// What we added to the SYN that we sent on.
    pub(super) fn added(&self) -> Announcement {
        self.added
    }

    /// The same without what we add.
    pub(crate) fn without_added_options(self) -> Syn {
        Syn { added: Announcement::default(), ..self }
    }

    /// Whether nothing is added, so that the hosts can do without us.
    pub(crate) fn is_as_it_came(&self) -> bool {
        !self.added.any()
    }

    /// Whether somebody has added options to it: we, or the peer gateway.
    pub(crate) fn is_added_to(&self) -> bool {
        self.added.any() || self.peer_added.is_some_and(Announcement::any)
    }

    /// When the first one came.
    pub(crate) fn came_at(&self) -> Instant {
        self.sent_at - Duration::from_millis(self.repeated_for.into())
    }

    /// When it was last sent on.
    pub(crate) fn sent_at(&self) -> Instant {
        self.sent_at
    }

    /// When it was sent on, if that was done once only.
    pub(super) fn sent_once_at(&self) -> Option<Instant> {
        (self.count == 1).then_some(self.sent_at)
    }

    /// When it is forgotten without a SYN-ACK.
    pub(crate) fn deadline(&self, config: &Config) -> Instant {
        self.sent_at + config.open_timeout
    }

    /// Whether `tcp`, from the client, is the SYN once more.
    pub(crate) fn is_repeated_by(&self, tcp: &TcpHeader) -> bool {
        tcp.has(Flags::SYN) && !tcp.has(Flags::ACK) && tcp.seq == self.isn
    }

    /// Whether a RST from the host of `leg` ends this handshake.
    pub(crate) fn is_refused_by(&self, leg: Leg, tcp: &TcpHeader) -> bool {
        if leg == Leg::Server {
            tcp.has(Flags::ACK) && tcp.ack == self.isn + 1
        } else {
            tcp.seq == self.isn + 1 || tcp.seq == self.isn
        }
    }

    /// What this attempt sends on.
    pub(crate) fn relay(
        &mut self,
        now: Instant,
        config: &Config,
        ip: &IpHeader,
        tcp: &TcpHeader,
    ) -> Relay {
        let with_added_options = self.count < SYNS_WITH_ADDED_OPTIONS;
        self.relay_as(with_added_options, now, config, ip, tcp)
    }

    /// What this attempt sends on, with all that we add however many there have been.
    pub(super) fn relay_with_added_options(
        &mut self,
        now: Instant,
        config: &Config,
        ip: &IpHeader,
        tcp: &TcpHeader,
    ) -> Relay {
        self.relay_as(true, now, config, ip, tcp)
    }

    fn relay_as(
        &mut self,
        with_added_options: bool,
        now: Instant,
        config: &Config,
        ip: &IpHeader,
        tcp: &TcpHeader,
    ) -> Relay {
        self.count = self.count.saturating_add(1);
        if self.stamp.is_some()
            && let Some(ts) = tcp.options.timestamps
        {
            // The echo tells the client which of its SYNs was answered. A SYN that comes again
            // without timestamps takes nothing back: the server may have answered an earlier one.
            self.sent_stamp = ts.value;
        }
        let waited = now.saturating_since(self.came_at()).as_millis();
        self.repeated_for = u32::try_from(waited).unwrap_or(u32::MAX);
        self.sent_at = now;
        (self.hop_limit, self.flow_label) = (ip.hop_limit, ip.flow_label);
        self.traffic_class = ip.traffic_class;
        let ends = PerLeg::new((ip.src, tcp.src_port), (ip.dst, tcp.dst_port));
        let mut syn = self.sent(config, ends);
        if !with_added_options {
            self.added.take_off(&mut syn.options);
        } else if self.from.other() == Side::Satellite && config.announce {
            let takes_early_data = config.handshake == Handshake::DownstreamFirst;
            let announcement = Announcement { takes_early_data, ..self.added };
            let (link, seal) = (config.satellite.told_link(), config.seal(&syn));
            let announced = announcement.put(link, seal, &mut syn.options);
            debug_assert!(announced, "the options of a SYN that is split take 20 bytes at most");
        }
        (self.ip(ends), syn)
    }

    /// The SYN as it came from the client, but for an announcement. `ends` are those of the client
    /// and of the server.
    pub(super) fn came(&self, ends: PerLeg<Endpoint>) -> TcpHeader {
        TcpHeader {
            src_port: ends[Leg::Client].1,
            dst_port: ends[Leg::Server].1,
            seq: self.isn,
            flags: Flags::SYN,
            window: self.window,
            options: TcpOptions {
                mss: self.mss,
                window_scale: self.shift,
                sack_permitted: self.sack,
                timestamps: self.stamp.map(|value| Timestamps { value, echo: 0 }),
                ..TcpOptions::default()
            },
            ..TcpHeader::default()
        }
    }

    /// The SYN as we sent it, with all that any attempt of it offered. Without ECE and CWR, which
    /// would negotiate ECN: our legs do not speak it.
    pub(super) fn sent(&self, config: &Config, ends: PerLeg<Endpoint>) -> TcpHeader {
        let mut syn = self.came(ends);
        syn.window = self.sent_window;
        let added_by_peer = self.peer_added.unwrap_or_default();
        clamp_mss(config, self.from.other(), &self.ip(ends), added_by_peer, &mut syn);
        if let Some(added) = self.peer_added {
            added.take_off(&mut syn.options);
        }
        let options = &mut syn.options;
        if self.added.window_scale {
            options.window_scale = Some(OUR_WINDOW_SHIFT);
        }
        options.sack_permitted |= self.added.sack;
        if self.added.timestamps || options.timestamps.is_some() {
            options.timestamps = Some(Timestamps { value: self.sent_stamp, echo: 0 });
        }
        syn
    }

    /// Whether the SYN that we sent offered what `options`, of a SYN-ACK, accept.
    pub(super) fn offers(
        &self,
        config: &Config,
        ends: PerLeg<Endpoint>,
        options: &TcpOptions,
    ) -> bool {
        !Announcement::beyond(&self.sent(config, ends).options, options).any()
    }

    /// The hop limit that it came with.
    pub(super) fn hop_limit(&self) -> HopLimit {
        HopLimit::new(self.hop_limit)
    }

    /// The IP header of the one that was sent on last.
    pub(super) fn ip(&self, ends: PerLeg<Endpoint>) -> IpHeader {
        let Syn { hop_limit, traffic_class, flow_label, .. } = *self;
        without_ecn(&IpHeader {
            hop_limit,
            traffic_class,
            flow_label,
            ..IpHeader::between(ends[Leg::Client].0, ends[Leg::Server].0)
        })
    }
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

/// Lowers the MSS option of what goes to `to`, where the other leg alone has the options `added`.
///
/// What the host of `to` sends goes on over that leg. RFC 6691 leaves options out of the MSS, so a
/// full segment would not fit there with timestamps: its last 12 bytes would be a segment of their
/// own. A host that has sent no MSS is content with 536.
pub(super) fn clamp_mss(
    config: &Config,
    to: Side,
    ip: &IpHeader,
    added: Announcement,
    tcp: &mut TcpHeader,
) {
    let Some(mss) = &mut tcp.options.mss else { return };
    let limited = |side| config.mss_limit(side, ip).map_or(*mss, |limit| limit.min(*mss));
    let within = |mss: u16| mss.saturating_sub(TIMESTAMPS_LEN).max(NegotiatedOptions::MIN_MSS);
    let longest = if added.timestamps { within(limited(to.other())) } else { u16::MAX };
    *mss = limited(to).min(longest);
}

pub(crate) fn without_ecn(ip: &IpHeader) -> IpHeader {
    IpHeader { traffic_class: ip.traffic_class & !IpHeader::ECN_MASK, ..*ip }
}
