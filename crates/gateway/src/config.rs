//! The gateway's parameters.

use crate::Side;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::rtt::RtoConfig;
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};

/// Whether options that a host did not offer are added on the satellite leg.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AddOptions {
    /// Towards a gateway that has announced itself on the link, which takes them off again.
    #[default]
    KnownPeer,
    /// Always: the papers' rule (bharadwaj-1999, 3.1).
    Always,
    /// Not at all.
    Never,
}

/// How a leg's TCP behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LegConfig {
    /// The rate of the link behind this leg, if it is known: paces every flow, and sizes the
    /// initial window together with `round_trip`.
    pub rate: Option<Rate>,
    /// The round-trip time of that link, if it is known.
    pub round_trip: Option<Duration>,
    /// Initial window in segments where rate and round trip are not known.
    pub initial_window: u32,
    /// When acknowledgments are sent.
    pub ack_policy: AckPolicy,
    /// The retransmission timer.
    pub rto: RtoConfig,
    /// The largest IP packet on the interfaces of this side, in bytes.
    pub mtu: u16,
}

impl LegConfig {
    /// The bandwidth-delay product in bytes, if both factors are known.
    pub fn bandwidth_delay_product(&self) -> Option<u64> {
        Some(self.rate?.bytes_in(self.round_trip?))
    }

    /// The window that one flow needs to fill the link, in bytes, if that is known: the
    /// bandwidth-delay product and a quarter, because acknowledgments also wait for their timer,
    /// for the queue and for the far network. Pacing keeps the quarter out of the queue.
    pub fn filling_window(&self) -> Option<u64> {
        self.bandwidth_delay_product().map(|bytes| bytes + bytes / 4)
    }
}

/// The gateway's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// All bytes held, sent and unsent, of all flows.
    pub memory: Bytes,
    /// What a stream may hold.
    pub stream_capacity: Bytes,
    /// What a flow may hold of each stream whatever the other flows hold.
    pub guaranteed: Bytes,
    /// The most flows.
    pub max_flows: usize,
    /// Legs towards the satellite.
    pub satellite: LegConfig,
    /// Legs towards the LAN.
    pub lan: LegConfig,
    /// Whether missing options are added on the satellite leg.
    pub add_options: AddOptions,
    /// Announce ourselves in SYNs to the satellite side.
    pub announce: bool,
    /// Send super-segments of up to 64 KB, for a device that splits them.
    pub super_segments: bool,
    /// How long a FIN's acknowledgment waits for the far side's.
    pub fin_hold: Duration,
    /// How long acknowledged bytes may take to be delivered after a RST.
    pub reset_drain: Duration,
    /// How long a SYN waits for its SYN-ACK, and a SYN-ACK for its ACK.
    pub open_timeout: Duration,
    /// How long a finished flow answers repeated segments.
    pub linger: Duration,
    /// After this long without a packet, a flow whose streams are empty is forwarded.
    pub idle_timeout: Duration,
}

impl Config {
    /// The parameters of legs towards `side`.
    pub fn leg(&self, side: Side) -> &LegConfig {
        match side {
            Side::Lan => &self.lan,
            Side::Satellite => &self.satellite,
        }
    }
}

/// How long a host may delay an acknowledgment: the retransmission timer allows for it.
const DELAYED: Duration = Duration::from_millis(200);

impl Default for Config {
    fn default() -> Config {
        let rto = RtoConfig::default();
        Config {
            memory: Bytes::new(512 << 20),
            stream_capacity: Bytes::new(4 << 20),
            guaranteed: Bytes::new(16 << 10),
            max_flows: 20_000,
            satellite: LegConfig {
                rate: None,
                round_trip: None,
                initial_window: 10,
                ack_policy: AckPolicy::Delayed(Duration::from_millis(40)),
                // RFC 6298, rule 2.4: a second, which a satellite round trip is close to.
                rto: RtoConfig { min: Duration::from_secs(1), granularity: DELAYED, ..rto },
                mtu: u16::MAX,
            },
            lan: LegConfig {
                rate: None,
                round_trip: None,
                initial_window: 10,
                // On a LAN acknowledgments cost nothing, and a waiting one may hold up a host.
                ack_policy: AckPolicy::PerSegment,
                rto: RtoConfig { granularity: DELAYED, ..rto },
                mtu: u16::MAX,
            },
            add_options: AddOptions::default(),
            announce: true,
            super_segments: true,
            fin_hold: Duration::from_secs(30),
            reset_drain: Duration::from_secs(60),
            open_timeout: Duration::from_secs(70),
            linger: Duration::from_secs(15),
            idle_timeout: Duration::from_secs(7200),
        }
    }
}
