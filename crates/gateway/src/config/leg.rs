//! How a leg's TCP behaves: a preset of the core, what is known of the link, and what is to be
//! different.

use super::{Discard, FoundBy, Losses, Told};
use crate::Side;
use bentpipe_core::tcp::congestion::CongestionAlgorithm;
use bentpipe_core::tcp::connection::ConnectionConfig;
use bentpipe_core::tcp::pacing::Pacing;
use bentpipe_core::tcp::presets::ConfigError;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::sender::SenderConfig;
use bentpipe_core::text::{Setting, Settings};
use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Rate};

/// What a round trip takes where nothing is known: over a geostationary satellite, and nearby.
const GEO_ROUND_TRIP: Duration = Duration::from_millis(600);
const NEAR_ROUND_TRIP: Duration = Duration::from_millis(100);

/// The values of `iw` by which initial windows follow from the load, and from the round trip.
const FROM_LOAD: &str = "from-load";
const BY_ROUND_TRIP: &str = "by-round-trip";

/// What a satellite leg is like if nothing is said.
pub(super) const SATELLITE_PRESET: &str = "gateway-satellite";

/// How long segments on a side may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MssLimit {
    /// As long as the hosts agree, and ours as long as the side's interfaces carry.
    #[default]
    Hosts,
    /// As long as the interfaces of both sides carry.
    Clamp,
    /// An MSS option of so many bytes (RFC 9293, 3.7.1: without options).
    At(u16),
}

/// What a leg's initial window is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FirstWindow {
    /// What the sender's configuration says, or what fills the link where that is known.
    #[default]
    Given,
    /// What of the link is free when a flow has its first data, instead of what fills it. For
    /// experiments; both factors of the product must be known.
    FromLoad,
    /// As given, but on a path of which nothing is known ten segments for every 100 ms of its round
    /// trip, spread over that.
    ByRoundTrip,
}

/// How a leg's TCP behaves.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LegConfig {
    /// The rate of the link behind this leg, if it is known: paces every flow, and sizes the
    /// initial window together with `round_trip`.
    pub rate: Option<Rate>,
    /// The rate at which that link brings what comes, if it is known and another one: sizes what
    /// streams from there may hold, and says what acknowledgments are for.
    pub return_rate: Option<Rate>,
    /// The round-trip time of that link, if it is known.
    pub round_trip: Option<Duration>,
    /// `rate` is what the link is held to carry at first. Where flows find it together, they follow
    /// what it carries, more or less.
    pub follow: bool,
    /// The maximum that all flows to a remote may use together, and all others.
    pub max_rate: Option<Rate>,
    /// What the link is held to carry at first, where that is to be [followed](LegConfig::follow):
    /// follows from `rate`, which is unknown then.
    pub(crate) guess: Option<Rate>,
    /// Which of these three the gateway at the other end has told. The operator's word counts more.
    pub told: Told,
    /// What a loss is taken for.
    pub losses: Losses,
    /// By whom its rate is found, if nothing is known of it.
    pub found_by: FoundBy,
    /// Other pairs use the carrier, too, and nobody else. Their files say so as well.
    pub shared_carrier: bool,
    /// The wall clock at the moment zero. Pairs drain a shared carrier at its multiples of ten
    /// seconds.
    pub wall_clock: Duration,
    /// The sender. Segment sizes follow from the handshake, and where rate and round trip are
    /// known the initial window is at least what fills the link, and slow start ends there.
    /// Without SACK, a recovery that needs it gives way to NewReno.
    pub sender: SenderConfig,
    /// What else the initial window goes by.
    pub first_window: FirstWindow,
    /// Pacing; None: at the link's rate if that is known.
    pub pacing: Option<Pacing>,
    /// When acknowledgments are sent; the leg thins them further where the link asks for it.
    pub ack_policy: AckPolicy,
    /// Whether the link decides on thinning them: unless a policy was chosen.
    pub ack_by_link: bool,
    /// The largest IP packet on the interfaces of this side, in bytes.
    pub mtu: u16,
    /// The longest segments of either direction: the MSS option of SYNs and SYN-ACKs that go to
    /// this side, and what we send there.
    pub mss: MssLimit,
    /// Whether segments from this side are discarded while what they bring has a backlog.
    pub discard: Discard,
}

/// Why a leg's parameter cannot be set.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LegError {
    /// The core does not understand it.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A leg has no such parameter: it comes from the hosts, or there is none.
    #[error("a leg has no parameter `{0}` (there are {names})", names = LegConfig::KEYS.join(", "))]
    Key(String),
}

impl LegConfig {
    /// The core's parameters that a leg has. The others come from the hosts or from the gateway.
    pub const KEYS: &[&str] = &[
        "ack",
        "recovery",
        "congestion",
        "reduction",
        "undo",
        "slow-start",
        "probing",
        "iw",
        "iw-use",
        "ssthresh",
        "byte-limit",
        "pacing",
        "spare-copies",
        "nagle",
        "restart-after-idle",
        "max-retries",
        "rto.initial",
        "rto.min",
        "rto.max",
        "rto.granularity",
        "rto.tick",
        "rtt-tick",
    ];

    /// The round-trip time of a leg towards `side`, as far as anything is known.
    pub(crate) fn assumed_round_trip(&self, side: Side) -> Duration {
        self.round_trip.unwrap_or(match side {
            Side::Satellite => GEO_ROUND_TRIP,
            Side::Lan => NEAR_ROUND_TRIP,
        })
    }

    /// A leg like the preset `name`, on a link of which nothing is known.
    ///
    /// # Errors
    /// [`ConfigError::Preset`] if there is no such preset.
    pub fn preset(name: &str) -> Result<LegConfig, ConfigError> {
        let ConnectionConfig { sender, ack_policy, .. } = ConnectionConfig::preset(name)?;
        let (rate, return_rate, round_trip, pacing) = (None, None, None, None);
        let (mtu, mss, discard) = (u16::MAX, MssLimit::Hosts, Discard::Off);
        let losses = Losses::default();
        Ok(LegConfig {
            rate,
            return_rate,
            round_trip,
            follow: false,
            max_rate: None,
            guess: None,
            told: Told::default(),
            losses,
            found_by: FoundBy::default(),
            shared_carrier: false,
            wall_clock: Duration::ZERO,
            sender,
            first_window: FirstWindow::Given,
            pacing,
            ack_policy,
            ack_by_link: true,
            mtu,
            mss,
            discard,
        })
    }

    /// Another congestion control. The operator that chooses one wants losses to be heard.
    pub fn choose_congestion(&mut self, congestion: CongestionAlgorithm) {
        self.sender.congestion = congestion;
        self.losses = Losses::Believed;
    }

    /// Sets one parameter from text, as the core reads it.
    ///
    /// # Errors
    /// [`LegError`]; then nothing has changed.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), LegError> {
        if !Self::KEYS.contains(&key) {
            return Err(LegError::Key(key.to_owned()));
        }
        let first_window = match (key, value) {
            ("iw", FROM_LOAD) => Some(FirstWindow::FromLoad),
            ("iw", BY_ROUND_TRIP) => Some(FirstWindow::ByRoundTrip),
            _ => None,
        };
        if let Some(first_window) = first_window {
            self.first_window = first_window;
            return Ok(());
        }
        let mut tcp = ConnectionConfig {
            sender: self.sender,
            ack_policy: self.ack_policy,
            ..ConnectionConfig::default()
        };
        tcp.set(key, value)?;
        (self.sender, self.ack_policy) = (tcp.sender, tcp.ack_policy);
        if key == "congestion" {
            self.choose_congestion(tcp.sender.congestion);
        }
        self.ack_by_link &= key != "ack";
        if key == "pacing" {
            self.pacing = Some(tcp.sender.pacing);
        }
        if key == "iw" {
            self.first_window = FirstWindow::Given;
        }
        Ok(())
    }

    /// Sets what a text like `linux,iw=4` says: a preset, if it begins with one, then parameters.
    ///
    /// # Errors
    /// [`LegError`]; then nothing has changed.
    pub fn set_all(&mut self, text: &str) -> Result<(), LegError> {
        let mut changed = *self;
        for setting in Settings::read(text).iter() {
            match setting {
                Setting::Base(name) => changed.begin_with(&ConnectionConfig::preset(name)?),
                Setting::Pair(key, value) => changed.set(key, value)?,
                Setting::Stray(text) => return Err(ConfigError::Form(text.to_owned()).into()),
            }
        }
        *self = changed;
        Ok(())
    }

    /// Begins anew with a preset's sender and acknowledgments. Who chooses another one than the
    /// usual chooses its congestion control, too, which then hears of losses.
    pub fn begin_with(&mut self, preset: &ConnectionConfig) {
        (self.sender, self.ack_policy) = (preset.sender, preset.ack_policy);
        let usual = LegConfig::preset(SATELLITE_PRESET).is_ok_and(|leg| leg.sender == self.sender);
        (self.losses, self.first_window) = match usual {
            true => (Losses::Link, FirstWindow::ByRoundTrip),
            false => (Losses::Believed, FirstWindow::Given),
        };
    }

    /// The leg in force: of a rate that is to be followed no more than a guess is left.
    pub(crate) fn followed(self) -> LegConfig {
        let followed = LegConfig { rate: None, guess: self.rate, ..self };
        match self.follow && self.rate.is_some() && followed.finds_together() {
            true => followed,
            false => self,
        }
    }

    /// True where a rate of its link can be followed.
    pub fn can_follow(&self) -> bool {
        LegConfig { rate: None, ..*self }.finds_together()
    }

    /// The bandwidth-delay product in bytes, if both factors are known.
    pub fn bandwidth_delay_product(&self) -> Option<u64> {
        Some(self.rate?.bytes_in(self.round_trip?))
    }

    /// The bytes that all flows share, where the initial window is what of them is free.
    pub(crate) fn shared_product(&self) -> Option<u64> {
        self.bandwidth_delay_product().filter(|_| self.first_window == FirstWindow::FromLoad)
    }

    /// The window that one flow needs to fill the link, in bytes, if that is known: the
    /// bandwidth-delay product and a quarter, because acknowledgments also wait for their timer,
    /// for the queue and for the far network. Pacing keeps the quarter out of the queue.
    pub fn filling_window(&self) -> Option<Bytes> {
        self.bandwidth_delay_product().map(with_a_quarter)
    }

    /// The rate at which the link brings what comes, if it is known: as what goes, unless another
    /// one is said.
    pub(crate) fn arriving_rate(&self) -> Option<Rate> {
        self.return_rate.or(self.rate).or(self.guess)
    }

    /// The window that one flow's sender at the other end needs to fill the link with what comes,
    /// in bytes, if that is known.
    pub(crate) fn arriving_window(&self) -> Option<Bytes> {
        Some(with_a_quarter(self.arriving_rate()?.bytes_in(self.round_trip?)))
    }

    /// Whether all flows to a remote find its link together: its rate is to be found, and nobody
    /// says what a flow begins with.
    pub(crate) fn finds_together(&self) -> bool {
        let begins_alone = self.first_window != FirstWindow::ByRoundTrip;
        self.found_by.is_together() && self.is_watched() && self.rate.is_none() && !begins_alone
    }

    /// Whether all flows together watch the link: losses may be its own, and what paces it holds
    /// back what it cannot take.
    pub(crate) fn is_watched(&self) -> bool {
        let paced = match self.rate {
            None => self.pacing != Some(Pacing::Off),
            rate => self.pacing() == Pacing::Window { cap: rate },
        };
        paced && self.losses == Losses::Link
    }

    /// Whether a loss need not be congestion. Segments are paced then, but for slow start.
    pub(crate) fn tolerates_losses(&self) -> bool {
        self.losses == Losses::Link && self.pacing != Some(Pacing::Off)
    }

    /// How a leg paces: as it was told, never above the link's rate; or else at that rate.
    pub(crate) fn pacing(&self) -> Pacing {
        let by_rate = self.rate.map_or(Pacing::Off, |rate| Pacing::Window { cap: Some(rate) });
        match self.pacing {
            None => by_rate,
            Some(Pacing::Window { cap: None }) if self.rate.is_some() => by_rate,
            Some(given) => given,
        }
    }
}

/// A bandwidth-delay product and a quarter.
pub(crate) fn with_a_quarter(product: u64) -> Bytes {
    Bytes::new(product.saturating_add(product / 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use bentpipe_core::tcp::congestion::CongestionAlgorithm;
    use bentpipe_core::tcp::presets::KEYS;
    use bentpipe_core::tcp::recovery::RecoveryAlgorithm;
    use bentpipe_core::tcp::sender::InitialWindow;

    #[test]
    fn a_leg_has_keys_of_the_core_only() {
        for name in LegConfig::KEYS {
            let key = KEYS.iter().find(|key| key.name == *name).expect(name);
            let mut leg = Config::default().satellite;
            leg.set(name, &key.value(&ConnectionConfig::default())).expect(name);
        }
    }

    #[test]
    fn a_text_changes_what_it_names() {
        let mut leg = Config::default().satellite;
        let before = leg;
        leg.set_all("recovery=fack, congestion=vegas:alpha=2;beta=4, iw=4380B").unwrap();
        assert_eq!(leg.sender.recovery, RecoveryAlgorithm::Fack);
        assert!(matches!(leg.sender.congestion, CongestionAlgorithm::Vegas { .. }));
        assert_eq!(leg.sender.initial_window, InitialWindow::Bytes(Bytes::new(4380)));
        assert_eq!((leg.sender.rto, leg.ack_policy), (before.sender.rto, before.ack_policy));
        leg.set_all("linux,rto.min=2s").unwrap();
        assert_eq!(leg.sender.rto.min, Duration::from_secs(2));
        assert_eq!(leg.sender.recovery, RecoveryAlgorithm::Rack);
    }

    #[test]
    fn who_chooses_a_control_wants_it_to_hear_of_losses() {
        let losses = |text: &str| {
            let mut leg = Config::default().satellite;
            leg.set_all(text).unwrap();
            (leg.losses, leg.tolerates_losses())
        };
        for text in ["", "iw=4", "gateway-satellite", "gateway-satellite,recovery=fack"] {
            assert_eq!(losses(text), (Losses::Link, true), "{text}");
        }
        for text in ["congestion=cubic", "linux", "linux,iw=4", "gateway-satellite,congestion=bbr"]
        {
            assert_eq!(losses(text), (Losses::Believed, false), "{text}");
        }
        assert_eq!(losses("pacing=off"), (Losses::Link, false), "there is nothing to limit it");
    }

    #[test]
    fn an_initial_window_is_given_or_follows_from_the_load() {
        let mut leg = Config::default().satellite;
        let given = leg.sender.initial_window;
        leg.set_all("iw=from-load").unwrap();
        assert_eq!((leg.first_window, leg.sender.initial_window), (FirstWindow::FromLoad, given));
        assert_eq!(leg.shared_product(), None, "nothing is known of the link");
        leg.rate = Some(Rate::from_bits_per_sec(8_000_000));
        leg.round_trip = Some(Duration::from_millis(500));
        assert_eq!(leg.shared_product(), Some(500_000));
        leg.set("iw", "4").unwrap();
        assert_eq!((leg.first_window, leg.shared_product()), (FirstWindow::Given, None));
    }

    #[test]
    fn what_is_wrong_is_named_and_changes_nothing() {
        let mut leg = Config::default().lan;
        let before = leg;
        for (text, part) in [
            ("recovery=hope", "fack"),
            ("congestion=hope", "cubic"),
            ("iw=2,sack=off", "`sack`"),
            ("sack=off", "recovery, congestion"),
            ("control=cubic", "`control`"),
            ("solaris", "gateway-satellite"),
            ("iw=4,linux", "`linux`"),
        ] {
            let message = leg.set_all(text).unwrap_err().to_string();
            assert!(message.contains(part), "{text}: {message}");
            assert_eq!(leg, before);
        }
    }

    #[test]
    fn a_window_that_fills_the_link_is_a_quarter_more_than_its_product() {
        let mut leg = Config::default().satellite;
        leg.rate = Some(Rate::from_bits_per_sec(8_000_000));
        assert_eq!(leg.filling_window(), None, "half of it is not known");
        leg.round_trip = Some(Duration::from_millis(500));
        assert_eq!(leg.filling_window(), Some(Bytes::new(625_000)));
    }

    #[test]
    fn pacing_is_by_the_link_unless_it_was_told() {
        let rate = Rate::from_bits_per_sec(8_000_000);
        let mut leg = Config::default().satellite;
        assert_eq!(leg.pacing(), Pacing::Off);
        leg.set("pacing", "on").unwrap();
        assert_eq!(leg.pacing(), Pacing::Window { cap: None });
        leg.rate = Some(rate);
        assert_eq!(leg.pacing(), Pacing::Window { cap: Some(rate) });
        leg.set("pacing", "off").unwrap();
        assert_eq!(leg.pacing(), Pacing::Off);
    }
}
