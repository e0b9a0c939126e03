//! `[satellite]` and `[lan]`: how the two sides' TCP behaves.

use super::bounds::{self, RATES, ROUND_TRIPS, Size, Span, within};
use super::{Scalar, Wrong};
use bentpipe_core::tcp::congestion::{Band, Control};
use bentpipe_core::tcp::pacing::Pacing;
use bentpipe_core::tcp::receiver::AckPolicy;
use bentpipe_core::tcp::sender::InitialWindow;
use bentpipe_core::text::Choice;
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_gateway::{AddOptions, Discard, LegConfig, Losses, MssLimit};
use serde::Deserialize;
use std::ops::RangeInclusive;
use toml::Spanned;

/// What is known of the satellite link, and how to use it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Satellite {
    rate: Option<Spanned<String>>,
    return_rate: Option<Spanned<String>>,
    round_trip: Option<Spanned<String>>,
    losses: Option<Spanned<Scalar>>,
    add_options: Option<Adding>,
    recovery: Option<Spanned<Scalar>>,
    congestion: Option<Spanned<Scalar>>,
    initial_window: Option<Spanned<Scalar>>,
    pacing: Option<Spanned<Scalar>>,
    min_rto: Option<Spanned<Scalar>>,
    ack: Option<Spanned<Scalar>>,
    mss: Option<Spanned<Scalar>>,
    discard: Option<Spanned<Scalar>>,
    tcp: Option<Spanned<Scalar>>,
}

/// How to use the near network.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Lan {
    recovery: Option<Spanned<Scalar>>,
    congestion: Option<Spanned<Scalar>>,
    initial_window: Option<Spanned<Scalar>>,
    pacing: Option<Spanned<Scalar>>,
    min_rto: Option<Spanned<Scalar>>,
    ack: Option<Spanned<Scalar>>,
    mss: Option<Spanned<Scalar>>,
    discard: Option<Spanned<Scalar>>,
    tcp: Option<Spanned<Scalar>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Adding {
    KnownPeer,
    Always,
    Never,
}

/// Sets what a side's table says of its TCP: `tcp` first, then what has a name of its own. What
/// makes a leg that cannot work is at fault.
macro_rules! set_leg {
    ($leg:expr, $table:expr) => {{
        let leg: &mut LegConfig = $leg;
        if let Some(text) = &$table.tcp {
            leg.set_all(&text.get_ref().to_string()).map_err(|error| Wrong::at(text, &error))?;
            check(leg).map_err(|error| Wrong::at(text, &error))?;
        }
        for (key, value) in [
            ("recovery", &$table.recovery),
            ("congestion", &$table.congestion),
            ("iw", &$table.initial_window),
            ("pacing", &$table.pacing),
            ("rto.min", &$table.min_rto),
            ("ack", &$table.ack),
        ] {
            if let Some(text) = value {
                leg.set(key, &text.get_ref().to_string())
                    .map_err(|error| Wrong::at(text, &error))?;
                check(leg).map_err(|error| Wrong::at(text, &error))?;
            }
        }
        if let Some(text) = &$table.mss {
            leg.mss = mss_limit(text.get_ref()).map_err(|error| Wrong::at(text, &error))?;
        }
        if let Some(text) = &$table.discard {
            let name = text.get_ref().to_string();
            leg.discard =
                Discard::read("discard", &name).map_err(|error| Wrong::at(text, &error))?;
        }
    }};
}

impl Satellite {
    /// Changes `leg` as the table says.
    pub(super) fn set(&self, leg: &mut LegConfig) -> Result<(), Wrong> {
        leg.rate = bounds::read("rate", self.rate.as_ref(), &RATES)?;
        leg.return_rate = bounds::read("return_rate", self.return_rate.as_ref(), &RATES)?;
        let round_trip = bounds::read("round_trip", self.round_trip.as_ref(), &ROUND_TRIPS)?;
        leg.round_trip = round_trip.map(|Span(time)| time);
        set_leg!(leg, self);
        if let Some(text) = &self.losses {
            let name = text.get_ref().to_string();
            leg.losses = Losses::read("losses", &name).map_err(|error| Wrong::at(text, &error))?;
        }
        Ok(())
    }

    /// Whether options are added, if the table says so.
    pub(super) fn add_options(&self) -> Option<AddOptions> {
        self.add_options.map(|adding| match adding {
            Adding::KnownPeer => AddOptions::KnownPeer,
            Adding::Always => AddOptions::Always,
            Adding::Never => AddOptions::Never,
        })
    }
}

impl Lan {
    /// Changes `leg` as the table says.
    pub(super) fn set(&self, leg: &mut LegConfig) -> Result<(), Wrong> {
        set_leg!(leg, self);
        Ok(())
    }
}

/// The MSS of hosts, or a number or a rule that limits it.
fn mss_limit(text: &Scalar) -> Result<MssLimit, String> {
    match text {
        Scalar::Text(text) if text == "hosts" => Ok(MssLimit::Hosts),
        Scalar::Text(text) if text == "clamp" => Ok(MssLimit::Clamp),
        // RFC 9293, 3.7.1: what every host takes; and what fits into an IPv4 packet.
        Scalar::Number(mss @ 536..=65_495) => Ok(MssLimit::At(*mss as u16)),
        other => Err(format!("mss: `{other}` is none of \"hosts\", \"clamp\", 536 to 65495")),
    }
}

/// RFC 9293, 3.8.6.3: an acknowledgment is delayed by less than half a second.
const LONGEST_ACK_DELAY: Duration = Duration::from_millis(500);
/// Acknowledgments for a segment: more would be a flood.
const ACK_PARTS: RangeInclusive<u32> = 1..=64;
/// A window is at most 1 GiB (RFC 7323, 2.3).
const WINDOWS: RangeInclusive<Size> = Size(1)..=Size(1 << 30);
/// RFC 9293, 3.8.3: R1 is three retransmissions at least; and what a silent host holds is given back
/// one day.
const UNANSWERED: RangeInclusive<u32> = 3..=100;
const LONGEST_TIMEOUTS: RangeInclusive<Span> =
    Span(Duration::from_secs(1))..=Span(Duration::from_secs(3600));
/// BSD's clock ticks twice a second.
const TICKS: RangeInclusive<Span> = Span(Duration::ZERO)..=Span(Duration::from_secs(1));
const MIN_TIMEOUT: Duration = Duration::from_millis(1);
/// From hardly any growth to as much as there can be.
const FACTORS: RangeInclusive<f64> = 0.001..=1_000_000.0;
const REFERENCES: RangeInclusive<Span> =
    Span(Duration::from_millis(1))..=Span(Duration::from_secs(10));

/// Says what of a leg cannot work: what is out of range, or contradicts something else.
fn check(leg: &LegConfig) -> Result<(), String> {
    check_pacing(leg.pacing, leg.rate)?;
    let sender = &leg.sender;
    if let InitialWindow::Bytes(bytes) = sender.initial_window {
        within("iw", &Size(bytes), &WINDOWS)?;
    }
    if let Some(ssthresh) = sender.initial_ssthresh {
        within("ssthresh", &Size(ssthresh), &WINDOWS)?;
    }
    within("max-retries", &sender.max_retries, &UNANSWERED)?;
    check_timer(leg)?;
    check_control(sender.control)?;
    match leg.ack_policy {
        AckPolicy::PerSegment => Ok(()),
        AckPolicy::Division(parts) => within("ack", &parts, &ACK_PARTS),
        AckPolicy::Delayed(delay)
        | AckPolicy::Heartbeat(delay)
        | AckPolicy::Thinned { delay, .. } => {
            if delay > LONGEST_ACK_DELAY {
                let [delay, most] = [delay, LONGEST_ACK_DELAY].map(Span);
                return Err(format!("ack: acknowledgments wait for {delay}, {most} is the most"));
            }
            Ok(())
        }
    }
}

fn check_pacing(pacing: Option<Pacing>, link: Option<Rate>) -> Result<(), String> {
    let Some(Pacing::Window { cap: Some(rate) }) = pacing else { return Ok(()) };
    within("pacing", &rate, &RATES)?;
    match link {
        Some(link) if rate > link => {
            Err(format!("pacing: {rate} is more than the link's rate, {link}"))
        }
        _ => Ok(()),
    }
}

fn check_timer(leg: &LegConfig) -> Result<(), String> {
    let rto = &leg.sender.rto;
    within("rto.max", &Span(rto.max), &LONGEST_TIMEOUTS)?;
    within("rto.tick", &Span(rto.tick), &TICKS)?;
    within("rto.granularity", &Span(rto.granularity), &TICKS)?;
    for (key, time) in [("rto.min", rto.min), ("rto.initial", rto.initial)] {
        if time > rto.max {
            let [time, max] = [time, rto.max].map(Span);
            return Err(format!("{key}: {time} is more than rto.max, {max}"));
        }
    }
    // What varies little would time out with every acknowledgment that is a moment late.
    if rto.min.max(rto.granularity).max(rto.tick) < MIN_TIMEOUT {
        return Err("rto.min, rto.granularity, rto.tick: one of them must be 1ms at least".into());
    }
    Ok(())
}

fn check_control(control: Control) -> Result<(), String> {
    match control {
        Control::Standard
        | Control::Cubic { .. }
        | Control::Bbr1
        | Control::Bbr
        | Control::TolerantCubic
        | Control::Westwood
        | Control::HighSpeed => Ok(()),
        Control::KnownLink { rate } => within("known-link: rate", &rate, &RATES),
        Control::ConstantRate { c } => within("constant-rate: c", &c, &FACTORS),
        Control::IncreaseByK { k } => within("increase-by-k: k", &k, &FACTORS),
        Control::Vegas(Band { alpha, beta, gamma }) => {
            [("vegas: alpha", alpha), ("vegas: beta", beta), ("vegas: gamma", gamma)]
                .into_iter()
                .try_for_each(|(key, value)| within(key, &value, &FACTORS))
        }
        Control::Scalable { a, .. } => within("scalable: a", &a, &FACTORS),
        Control::Hybla { rtt0 } => within("hybla: rtt0", &Span(rtt0), &REFERENCES),
    }
}
