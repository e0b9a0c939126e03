//! A leg: the TCP of the gateway towards one of the hosts, in the other host's name.

use crate::Side;
use crate::announce::{Identity, PairKey, Report, ReportSchedule};
use crate::config::{
    Acknowledgments, Config, Discard, FirstWindow, LegConfig, MIN_MTU, with_a_quarter,
};
use crate::handshake::{LegHandshake, NegotiatedOptions};
use crate::hop_limit::HopLimit;
use bentpipe_core::tcp::cause::Cause;
use bentpipe_core::tcp::congestion::{CongestionAlgorithm, segments_for};
use bentpipe_core::tcp::receiver::{Receiver, ReceiverConfig};
use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
use bentpipe_core::tcp::sender::{InitialWindow, Sender, SenderConfig};
use bentpipe_core::tcp::tcb::{HandshakeNumbers, Outgoing, Tcb, TimestampClock, TimestampState};
use bentpipe_core::time::{Duration, Instant};
use bentpipe_core::units::{Bytes, Offset, Rate};
use bentpipe_core::wire::{Flags, IpHeader, SeqNum, TcpHeader};

/// The longest packet that we make: IPv6's payload length does not count its header, so that
/// both families stay within 65,535 bytes.
const MAX_LEN: u16 = u16::MAX - 40;

/// The largest initial window by the round trip: that of a geostationary satellite.
const MAX_FIRST_SEGMENTS: u32 = 50;

/// One leg of a split flow.
#[derive(Debug)]
pub(crate) struct LegTcp {
    pub(crate) tcb: Tcb,
    /// Header of what we send: from the host for which we stand, to the host of this leg.
    pub(crate) ip: IpHeader,
    /// Of the packets of the host for which we stand.
    pub(crate) hop_limit: HopLimit,
    pub(crate) src_port: u16,
    pub(crate) dst_port: u16,
    /// The window that fills the link behind this leg, if that is known when the flow begins.
    pub(crate) filling_window: Option<Bytes>,
    /// That of the sender at its other end.
    pub(crate) arriving_window: Option<Bytes>,
    /// The round-trip time to go by until one has been measured.
    pub(crate) assumed_round_trip: Duration,
    /// How its segments are acknowledged.
    pub(crate) acknowledgments: Acknowledgments,
    /// Whether what comes in on it is discarded while it has a backlog.
    pub(crate) discard: Discard,
    /// A gateway at the other end has announced itself.
    pub(crate) peer: bool,
    /// What that is still to hear of our identity.
    pub(crate) reports: ReportSchedule,
    /// Who has shown there that it has the pair's key. A flow that hibernates asks for that again.
    pub(crate) proven: Option<Identity>,
    /// How often the host of this leg was told that a router cuts its segments in pieces.
    pub(crate) path_mtu_told: u8,
}

impl LegTcp {
    pub(crate) fn new(
        now: Instant,
        config: &Config,
        side: Side,
        handshake: &LegHandshake,
    ) -> LegTcp {
        let LegHandshake { ours, theirs, .. } = handshake;
        let LegHandshake { window, relayed, acked, received, promised, rtt, ip, peer, .. } =
            *handshake;
        let options = NegotiatedOptions::agreed(ours, theirs, config.mss_limit(side, &ip));
        let leg_config = config.leg(side);
        let mut sender = sender_config(config, leg_config, &options, &ip);
        if let Some(rate) = leg_config.known_link(peer) {
            sender = on_known_link(sender, rate, rtt);
        } else {
            // Where a loss may be congestion, a link is not idle because one flow has nothing to
            // send.
            sender.spare_copies = false;
            if side == Side::Satellite && leg_config.tolerates_losses() && options.sack {
                sender = on_lossy_link(sender, leg_config, rtt);
            }
        }
        let sender = Sender::new(sender, acked, window, rtt);
        let receiver = ReceiverConfig {
            rmss: options.rmss,
            window_shift: options.rcv_shift,
            sack: options.sack,
            hold_fin: true,
            delay_at_full_window: true,
        };
        let timestamps = options.timestamps.map(|recent| TimestampState {
            clock: relayed.map_or(TimestampClock::Own(ours.seq.0), TimestampClock::Relayed),
            recent,
            recent_at: now,
        });
        let handshake = HandshakeNumbers {
            snd_isn: ours.seq,
            rcv_isn: theirs.seq,
            snd_shift: options.snd_shift,
            timestamps,
        };
        let acknowledgments = leg_config.acknowledgments(peer).at_first();
        let receiver = Receiver::new(receiver, acknowledgments, received, promised.max(received));
        let mut tcb = Tcb::new(handshake, sender, receiver);
        tcb.stand_in();
        let ports = [ours.src_port, ours.dst_port];
        let filling_window = leg_config.known_filling_window(peer, rtt);
        let arriving_window = leg_config.known_arriving_window(peer, rtt);
        LegTcp {
            filling_window,
            arriving_window,
            ..LegTcp::of(leg_config, side, peer, tcb, ip, ports)
        }
    }

    /// A leg towards `side`, with a `peer` gateway at its other end or not, that sends from and to
    /// these ports.
    pub(crate) fn of(
        leg_config: &LegConfig,
        side: Side,
        peer: bool,
        tcb: Tcb,
        ip: IpHeader,
        [src_port, dst_port]: [u16; 2],
    ) -> LegTcp {
        LegTcp {
            tcb,
            // Each packet has its own.
            ip: IpHeader { identification: 0, ..ip },
            hop_limit: HopLimit::new(ip.hop_limit),
            src_port,
            dst_port,
            filling_window: leg_config.filling_window(),
            arriving_window: leg_config.arriving_window(),
            assumed_round_trip: leg_config.assumed_round_trip(side),
            acknowledgments: leg_config.acknowledgments(peer),
            discard: leg_config.discard,
            peer,
            reports: ReportSchedule::new(),
            proven: None,
            path_mtu_told: 0,
        }
    }

    /// The round-trip time of this leg, as measured, or else as far as anything is known.
    pub(crate) fn round_trip(&self) -> Duration {
        self.tcb.sender.rtt().srtt().unwrap_or(self.assumed_round_trip)
    }

    /// The least round-trip time of this leg that was measured.
    pub(crate) fn min_round_trip(&self) -> Duration {
        self.tcb.sender.rtt().min_rtt().unwrap_or(self.assumed_round_trip)
    }

    /// The last offset up to `edge` behind a whole number of the longest super-segments.
    ///
    /// A host near by sends at once what an acknowledgment has opened. Were the window to open by
    /// less than such a segment, the next ones would be as short for ever.
    pub(crate) fn whole_bursts(&self, edge: Offset) -> Offset {
        let rmss = self.tcb.receiver.rmss().max(Bytes::ONE);
        edge - (edge - Offset::SYN) % (longest_burst(rmss) * rmss)
    }

    /// It brings whole super-segments: two of them are acknowledged together, or one with the room
    /// that it makes.
    pub(crate) fn acknowledge_bursts(&mut self) {
        let receiver = &mut self.tcb.receiver;
        let burst = longest_burst(receiver.rmss().max(Bytes::ONE));
        receiver.set_ack_policy(self.acknowledgments.of_bursts(burst));
    }

    /// It is acknowledged as before anything had come.
    pub(crate) fn acknowledge_as_at_first(&mut self) {
        self.tcb.receiver.set_ack_policy(self.acknowledgments.at_first());
    }

    /// As much as `round` bytes come in on it in a round trip: they are acknowledged accordingly.
    pub(crate) fn acknowledge_by(&mut self, round: Bytes) {
        let round_trip = self.round_trip();
        let receiver = &mut self.tcb.receiver;
        let segments = round / receiver.rmss().max(Bytes::ONE);
        receiver.set_ack_policy(self.acknowledgments.at(segments, round_trip));
    }

    /// Whether a `report` from there is to be believed. With a `key` it has a seal, or comes behind
    /// one with that.
    pub(crate) fn believes(&mut self, report: Report, key: Option<PairKey>) -> bool {
        let Some(key) = key else { return true };
        let numbers = self.tcb.handshake();
        if report.is_sealed_by(key.in_connection(numbers.rcv_isn, numbers.snd_isn)) {
            self.proven = Some(report.identity);
        }
        self.proven == Some(report.identity)
    }

    /// Adds a `report` to what is sent to a peer gateway, if it is an acknowledgment that has room:
    /// then that which is in it.
    ///
    /// None is in one that repeats an earlier one or opens a window: if a middlebox drops those
    /// with a report, the next one is to pass.
    pub(crate) fn report(
        &mut self,
        report: Report,
        key: Option<PairKey>,
        out: &mut Outgoing,
    ) -> Option<Report> {
        let data_has_come = self.tcb.receiver.rcv_nxt() > Offset::FIRST;
        if !self.peer || !data_has_come || !out.data.is_empty() || out.tcp.flags != Flags::ACK {
            return None;
        }
        match out.cause {
            Cause::Segments | Cause::AckTimer | Cause::OutOfOrder | Cause::HoleFilled => {
                let numbers = self.tcb.handshake();
                let seal = key.map(|key| key.in_connection(numbers.snd_isn, numbers.rcv_isn));
                self.reports.report(report, seal, &mut out.tcp.options)
            }
            _ => {
                self.reports.pass();
                None
            }
        }
    }

    /// Addresses and ports for a segment of this leg.
    pub(crate) fn address(&self, mut tcp: TcpHeader) -> (IpHeader, TcpHeader) {
        tcp.src_port = self.src_port;
        tcp.dst_port = self.dst_port;
        let dont_fragment = self.ip.dont_fragment && !self.tcb.is_fragmented();
        (IpHeader { dont_fragment, ..self.ip }, tcp)
    }

    /// A segment with its addresses and ports.
    pub(crate) fn outgoing(&self, mut out: Outgoing) -> (IpHeader, Outgoing) {
        let (ip, tcp) = self.address(out.tcp);
        out.tcp = tcp;
        (ip, out)
    }

    /// The host for which this leg stands has sent a packet: hop limit, DSCP, flow label and DF of
    /// ours follow it. ECN is not spoken yet, so its bits stay clear.
    pub(crate) fn follow(&mut self, ip: &IpHeader) {
        self.hop_limit.hear(ip.hop_limit);
        self.ip.hop_limit = self.hop_limit.current();
        self.ip.dont_fragment = ip.dont_fragment;
        self.ip.traffic_class = ip.traffic_class & !IpHeader::ECN_MASK;
        self.ip.flow_label = ip.flow_label;
    }

    /// A RST, at SND.NXT or where `asked` for.
    pub(crate) fn reset(&self, asked: Option<SeqNum>) -> (IpHeader, TcpHeader) {
        self.address(self.tcb.reset(asked))
    }
}

/// How many segments of `smss` bytes the longest super-segment has.
fn longest_burst(smss: Bytes) -> u64 {
    (Bytes::from(MAX_LEN) - Bytes::new(60)) / smss
}

/// The sender of a leg as most connections have it.
pub(crate) fn usual_sender(leg: &LegConfig) -> SenderConfig {
    sender_on(leg, leg.sender.recovery, leg.sender.smss)
}

fn sender_config(
    config: &Config,
    leg: &LegConfig,
    options: &NegotiatedOptions,
    ip: &IpHeader,
) -> SenderConfig {
    let headers = Bytes::of_len(ip.wire_len() + 20) + options.options_len();
    // Headers take at most 100 bytes of the longest packet.
    let smss = options.smss.min(Bytes::from(leg.mtu.clamp(MIN_MTU, MAX_LEN)) - headers);
    let segments = if config.super_segments { longest_burst(smss) } else { Bytes::ONE.count() };
    let recovery = leg.sender.recovery.with_sack(options.sack);
    SenderConfig {
        smss,
        max_burst: segments.max(1) * smss,
        overhead: headers,
        ..sender_on(leg, recovery, smss)
    }
}

/// The same, but with probes in recovery, too: losses are many, and none of them ends sending.
fn probing(recovery: RecoveryAlgorithm) -> RecoveryAlgorithm {
    match recovery {
        RecoveryAlgorithm::Rack => RecoveryAlgorithm::RackPto,
        other => other,
    }
}

/// A sender whose losses are the link's.
fn on_known_link(sender: SenderConfig, rate: Rate, rtt: Option<Duration>) -> SenderConfig {
    // Where the round trip was not told, the handshake has measured it.
    let product = rtt.map_or(0, |rtt| rate.bytes_in(rtt));
    let initial = sender.initial_window.bytes(sender.smss).max(with_a_quarter(product));
    SenderConfig {
        recovery: probing(sender.recovery),
        congestion: CongestionAlgorithm::KnownLink { rate },
        initial_window: InitialWindow::Bytes(initial),
        restart_after_idle: false,
        ..sender
    }
}

/// A sender that tells the link's losses from congestion.
fn on_lossy_link(sender: SenderConfig, leg: &LegConfig, rtt: Option<Duration>) -> SenderConfig {
    let recovery = probing(sender.recovery);
    let by_round_trip = rtt.filter(|_| leg.first_window == FirstWindow::ByRoundTrip);
    let initial_window = by_round_trip.map_or(sender.initial_window, |rtt| {
        let segments = InitialWindow::Segments(segments_for(rtt, MAX_FIRST_SEGMENTS));
        let bytes = segments.bytes(sender.smss).max(sender.initial_window.bytes(sender.smss));
        InitialWindow::Bytes(bytes)
    });
    let congestion = CongestionAlgorithm::TolerantCubic;
    SenderConfig { recovery, congestion, initial_window, ..sender }
}

/// What of a leg's sender depends on its link, for segments of `smss` bytes.
fn sender_on(leg: &LegConfig, recovery: RecoveryAlgorithm, smss: Bytes) -> SenderConfig {
    // By the load it is told later: when there is something to send.
    let filling = leg.filling_window().filter(|_| leg.first_window != FirstWindow::FromLoad);
    let by_link = filling.map(|bytes| bytes.max(leg.sender.initial_window.bytes(smss)));
    let (initial_window, initial_ssthresh) = match by_link {
        Some(bytes) => (InitialWindow::Bytes(bytes), Some(bytes)),
        None => (leg.sender.initial_window, leg.sender.initial_ssthresh),
    };
    SenderConfig {
        recovery,
        initial_window,
        initial_ssthresh,
        pacing: leg.pacing(),
        // A link that is known needs no probing.
        restart_after_idle: leg.sender.restart_after_idle && leg.rate.is_none(),
        ..leg.sender
    }
}
