//! The gateway's parameters.

mod acknowledgments;
mod discard;
mod found_by;
mod leg;
mod losses;
mod stream;
mod told;

pub(crate) use acknowledgments::Acknowledgments;
pub use discard::Discard;
pub use found_by::FoundBy;
use leg::SATELLITE_PRESET;
pub(crate) use leg::with_a_quarter;
pub use leg::{FirstWindow, LegConfig, LegError, MssLimit};
pub use losses::Losses;
pub(crate) use stream::{StreamLimit, UNKNOWN_LINK};
pub use told::Told;

use crate::Side;
use crate::announce::{PairKey, Seal};
use crate::policy::Policy;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Bytes;
use bentpipe_core::wire::{IpHeader, TcpHeader};

/// Whether options that a host did not offer are added on the satellite leg.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum AddOptions {
    /// Towards a gateway that has announced itself on the link, which takes them off again.
    #[default]
    KnownPeer,
    /// Always: the papers' rule (bharadwaj-1999, 3.1).
    Always,
    /// Not at all.
    Never,
}

/// When the server's SYN-ACK is acknowledged.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Handshake {
    /// When the client has acknowledged it: the server has no connection that the client has not.
    #[default]
    EndToEnd,
    /// At once: the papers' order (bharadwaj-2001, 3.2). A server that speaks first is heard a
    /// round trip earlier, but a SYN with a forged address costs it a connection.
    DownstreamFirst,
}

/// When a host's FIN is acknowledged to it.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    Default,
    strum::VariantArray,
    strum::VariantNames,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
pub enum FinMode {
    /// When the far host has acknowledged it (Henderson, 4.3.1), or after
    /// [`fin_hold`](Config::fin_hold).
    #[default]
    EndToEnd,
    /// At once: the papers' rule (bharadwaj-2001, 3.1). What precedes it is still owed to the far
    /// host, which its sender does not hear of.
    Immediate,
}

impl FinMode {
    /// Where FINs are acknowledged at once, nothing of a flow is left so long after both
    /// (bharadwaj-2001, 3.2). What still comes then is forwarded, and the hosts answer it.
    pub const MAX_LINGER: Duration = Duration::from_secs(4);
}

/// The minimum MTU that counts: IPv4's (RFC 791) would leave options no room beside data.
pub(crate) const MIN_MTU: u16 = 576;
/// TCP's header without options.
const TCP_HEADER_LEN: usize = 20;

/// The gateway's parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The most memory that all streams together hold, sent and unsent.
    pub memory: Bytes,
    /// What a stream may hold at most; None: what its link needs where that is known, or else 4
    /// MiB. Below that it sizes itself by its flow's bandwidth-delay product.
    pub max_stream: Option<Bytes>,
    /// What a flow may hold of each stream whatever the other flows hold, rounded up to whole
    /// chunks. It is taken from `memory` as long as the flow may receive anything.
    pub guaranteed: Bytes,
    /// The most flows, half-open ones included.
    pub max_flows: usize,
    /// The most connections whose SYN has no SYN-ACK yet; SYNs beyond it are forwarded.
    pub max_half_open: usize,
    /// The most flows of one client's address, half-open ones included.
    pub max_flows_per_client: usize,
    /// Which connections are split.
    pub policy: Policy,
    /// They are forwarded until so many bytes are acknowledged, of both directions together, and
    /// split from then on; None: they are split from their SYN on.
    pub adopt_after: Option<Bytes>,
    /// Connections that are forwarded in mid-life, as they were silent or the gateway is stopped,
    /// are remembered, and split again.
    pub soft_state: bool,
    /// Legs towards the satellite.
    pub satellite: LegConfig,
    /// Legs towards the LAN.
    pub lan: LegConfig,
    /// Whether missing options are added on the satellite leg.
    pub add_options: AddOptions,
    /// Announce ourselves in SYNs to the satellite side.
    pub announce: bool,
    /// Of other gateways, those that have it are believed.
    pub pair_key: Option<PairKey>,
    /// Send super-segments of up to 64 KB, for a device that splits them.
    pub super_segments: bool,
    /// When a server's SYN-ACK is acknowledged.
    pub handshake: Handshake,
    /// When a FIN is acknowledged.
    pub fin: FinMode,
    /// How long a FIN's acknowledgment waits for the far side's.
    pub fin_hold: Duration,
    /// How long acknowledged bytes may take to be delivered after a RST, and how long a host may
    /// take none of them while a flow is handed back.
    pub reset_drain: Duration,
    /// How long a SYN waits for its SYN-ACK, and a SYN-ACK for its ACK.
    pub open_timeout: Duration,
    /// How long a finished flow answers repeated segments; with [`FinMode::Immediate`] at most
    /// [`FinMode::MAX_LINGER`].
    pub linger: Duration,
    /// After this long without a packet, a flow whose streams are empty is kept in few bytes until
    /// something happens to it; zero: whenever it can be. Nothing else depends on it.
    pub hibernate_after: Duration,
    /// After this long without a packet, a flow whose streams are empty is forwarded.
    pub idle_timeout: Duration,
}

impl Config {
    /// The seal of announcements in `tcp`, a SYN or SYN-ACK, if there is a key.
    pub(crate) fn seal(&self, tcp: &TcpHeader) -> Option<Seal> {
        self.pair_key.map(|key| key.in_handshake(tcp))
    }

    /// The parameters of legs towards `side`.
    pub fn leg(&self, side: Side) -> &LegConfig {
        match side {
            Side::Lan => &self.lan,
            Side::Satellite => &self.satellite,
        }
    }

    /// How long a flow that has ended in order answers repeated segments.
    pub(crate) fn closed_linger(&self) -> Duration {
        match self.fin {
            FinMode::EndToEnd => self.linger,
            FinMode::Immediate => self.linger.min(FinMode::MAX_LINGER),
        }
    }

    /// The largest MSS option for segments between us and a host on `side`, if there is a limit.
    pub(crate) fn mss_limit(&self, side: Side, ip: &IpHeader) -> Option<u16> {
        match self.leg(side).mss {
            MssLimit::Hosts => None,
            MssLimit::Clamp => {
                let mtu = self.lan.mtu.min(self.satellite.mtu).max(MIN_MTU);
                Some(mtu - (ip.wire_len() + TCP_HEADER_LEN) as u16)
            }
            MssLimit::At(mss) => Some(mss),
        }
    }
}

impl Default for Config {
    fn default() -> Config {
        let leg = |name| LegConfig::preset(name).expect("the core has this preset");
        Config {
            memory: Bytes::new(512 << 20),
            max_stream: None,
            guaranteed: Bytes::new(12 << 10),
            // Idle ones take 1 KB each, those that are over and not counted among these less than
            // 300 bytes.
            max_flows: 200_000,
            // Thirteen thousand new connections a second over a link of 600 ms, in 2 MB.
            max_half_open: 8192,
            // A quarter of all.
            max_flows_per_client: 50_000,
            policy: Policy::default(),
            adopt_after: None,
            soft_state: false,
            satellite: LegConfig {
                first_window: FirstWindow::ByRoundTrip,
                ..leg(SATELLITE_PRESET)
            },
            lan: leg("gateway-terrestrial"),
            add_options: AddOptions::default(),
            announce: true,
            pair_key: None,
            super_segments: true,
            handshake: Handshake::default(),
            fin: FinMode::default(),
            fin_hold: Duration::from_secs(30),
            reset_drain: Duration::from_secs(60),
            open_timeout: Duration::from_secs(70),
            linger: Duration::from_secs(15),
            hibernate_after: Duration::from_secs(2),
            idle_timeout: Duration::from_secs(7200),
        }
    }
}
