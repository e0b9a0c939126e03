//! Congestion control: the window and the pacing rate.
//!
//! A [`Congestion`] hears of bytes, times and losses; it never sees sequence numbers, and never
//! what recovery does. Windows are in bytes.

mod ack_rate;
mod ack_train;
mod algorithm;
mod bbr;
mod bbr1;
mod classic;
mod constant_rate;
mod cubic;
mod filter;
mod first_threshold;
mod growth;
mod highspeed;
mod hybla;
mod hystart;
mod increase_by_k;
mod known_link;
mod loss_test;
mod path_signs;
mod per_ack;
mod scalable;
mod slow_start;
mod spread;
mod standard;
#[cfg(test)]
mod tests;
mod tolerant_cubic;
mod vegas;
mod westwood;

pub use algorithm::{CongestionAlgorithm, ControlEntry, ControlParameter};
pub use bbr::Bbr;
pub use bbr1::Bbr1;
pub use classic::{Classic, Increase};
pub use constant_rate::ConstantRate;
pub use cubic::Cubic;
pub use first_threshold::ThresholdEstimate;
pub use growth::Growth;
pub use highspeed::HighSpeed;
pub use hybla::Hybla;
pub use hystart::{HyStart, HyStartPhase};
pub use increase_by_k::IncreaseByK;
pub use known_link::{KnownLink, LinkReport};
pub use per_ack::BoundCount;
pub use scalable::Scalable;
pub use slow_start::{InitialWindowUse, Probing, SlowStart, SlowStartConfig};
pub use spread::segments_for;
pub use standard::Standard;
pub use tolerant_cubic::TolerantCubic;
pub use vegas::{Band, Vegas};
pub use westwood::Westwood;

use crate::snapshot::Snapshot;
use crate::tcp::delivery_rate::{LossSample, RateSample};
use crate::time::{Duration, Instant};
use crate::units::{Bytes, Rate};
use std::fmt;

/// An acknowledgment of new data outside fast recovery, or wherever the window
/// [may grow](Congestion::grows_in_recovery).
#[derive(Debug, Clone, Copy)]
pub struct AckSample {
    /// When it came.
    pub now: Instant,
    /// Bytes newly acknowledged, in order or not.
    pub bytes: Bytes,
    /// Sender maximum segment size.
    pub smss: Bytes,
    /// The round-trip time that it measured, if it did.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The minimum round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Bytes in flight when it came.
    pub in_flight: Bytes,
    /// Round trips so far: it grows by one when the data that was sent right behind the last
    /// growth has been acknowledged.
    pub round: u64,
    /// Whether the window, not the application or the peer, limited what was in flight.
    pub window_limited: bool,
}

/// What one acknowledgment says of the path, in fast recovery as well as outside.
#[derive(Debug, Clone, Copy)]
pub struct Delivery {
    /// When it came.
    pub now: Instant,
    /// Sender maximum segment size, in bytes.
    pub smss: Bytes,
    /// Bytes newly reported, cumulatively or selectively.
    pub newly: Bytes,
    /// All bytes reported so far.
    pub delivered: Bytes,
    /// Bytes marked lost since the last one.
    pub lost: Bytes,
    /// Bytes in flight after it.
    pub in_flight: Bytes,
    /// Bytes in flight before it.
    pub in_flight_before: Bytes,
    /// The moment from which pacing lets the next segment leave; the past if it may now.
    pub next_send: Instant,
    /// The delivery rate, if it reports anything.
    pub sample: Option<RateSample>,
    /// The round-trip time that it measured, if it did.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The minimum round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// The peer tells what arrives out of order (SACK).
    pub selective: bool,
    /// Fast recovery is under way.
    pub in_recovery: bool,
    /// What was outstanding when the retransmission timer last expired is not all acknowledged.
    pub after_timeout: bool,
}

/// A segment that has just left.
#[derive(Debug, Clone, Copy)]
pub struct Departed {
    /// When.
    pub now: Instant,
    /// Its bytes.
    pub bytes: Bytes,
    /// Bytes in flight before it left.
    pub in_flight: Bytes,
    /// The sender had run out of data, and what it had sent by then has not all been delivered.
    pub app_limited: bool,
}

/// A segment that is newly marked lost.
#[derive(Debug, Clone, Copy)]
pub struct Lost {
    /// When it is.
    pub now: Instant,
    /// All bytes reported by now.
    pub delivered: Bytes,
    /// What happened since it left.
    pub sample: LossSample,
}

/// What pacing goes by.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum PacingBasis {
    /// The window, `gain` times each round trip, so that pacing does not itself hold the window's
    /// growth back.
    Window {
        /// How much faster than one window a round trip.
        gain: f64,
    },
    /// The same, but never above this rate of payload.
    WindowUpTo {
        /// How much faster than one window a round trip.
        gain: f64,
        /// The path's rate, as far as it is known.
        rate: Rate,
    },
    /// This rate of payload, whatever the window; none: it is not known yet.
    Rate(Option<Rate>),
}

/// A congestion signal.
#[derive(Debug, Clone, Copy)]
pub struct CongestionEvent {
    /// When it was noticed.
    pub now: Instant,
    /// RFC 5681's FlightSize, without what limited transmit added.
    pub flight_size: Bytes,
    /// Bytes in flight, without what is marked lost.
    pub in_flight: Bytes,
    /// Sender maximum segment size.
    pub smss: Bytes,
}

/// RFC 5681, equation 4: the threshold after a loss, for all that halve.
fn half(event: &CongestionEvent) -> Bytes {
    (event.flight_size / 2).max(2 * event.smss)
}

/// A congestion control algorithm: what it makes of acknowledgments and losses. The rest is the
/// course of window and threshold through slow start, losses and idle times, which all share.
pub trait Congestion: fmt::Debug + Snapshot + Send {
    /// The window, the threshold, and slow start.
    fn slow_start(&self) -> &SlowStart;

    /// The same, to be changed.
    fn slow_start_mut(&mut self) -> &mut SlowStart;

    /// New data was acknowledged outside fast recovery: the window may grow.
    fn on_ack(&mut self, acked: &AckSample);

    /// An acknowledgment has reported something or shown a loss, in fast recovery or not. It comes
    /// before [`Congestion::on_ack`], and after [`Congestion::on_loss`] and
    /// [`Congestion::on_recovered`].
    fn on_delivery(&mut self, delivery: &Delivery) {
        self.slow_start_mut().on_delivery(delivery);
    }

    /// Whether it has reduced the window in [`Congestion::on_delivery`], because of losses, since this was last asked.
    fn take_own_reduction(&mut self) -> bool {
        false
    }

    /// What the flow has seen of its link since this was last asked, if it keeps account of that.
    fn take_report(&mut self) -> LinkReport {
        LinkReport::default()
    }

    /// Whether it is sending a large initial window, spread over the round trip.
    fn is_spreading(&self) -> bool {
        false
    }

    /// Bytes of that window beyond what leaves at once, sent since this was last asked.
    fn take_spread(&mut self) -> Bytes {
        Bytes::ZERO
    }

    /// The initial window is what has left of it, and at least what leaves at once.
    fn end_spread(&mut self) {}

    /// How often the increase was held to one segment an acknowledgment, of those that have that bound.
    fn bound_count(&self) -> BoundCount {
        BoundCount::default()
    }

    /// A segment has left. Pacing asks for its rate behind this.
    fn on_sent(&mut self, _departed: &Departed) {}

    /// A segment is marked lost. It comes before whatever the loss begins, [`Congestion::on_loss`] or
    /// [`Congestion::on_timeout`].
    fn on_lost(&mut self, _lost: &Lost) {}

    /// A loss, or a timeout: the new threshold. What congestion avoidance has accumulated is void.
    fn decrease(&mut self, event: &CongestionEvent, timeout: bool) -> Bytes;

    /// The congestion window in bytes; at least one segment.
    fn window(&self) -> Bytes {
        self.slow_start().window()
    }

    /// The slow start threshold in bytes.
    fn ssthresh(&self) -> Bytes {
        self.slow_start().ssthresh()
    }

    /// Fast recovery begins.
    fn on_loss(&mut self, event: &CongestionEvent) {
        let ssthresh = self.decrease(event, false);
        self.slow_start_mut().reduce(ssthresh, ssthresh);
    }

    /// Fast recovery ends with `flight_size` bytes outstanding.
    fn on_recovered(&mut self, flight_size: Bytes, smss: Bytes) {
        self.slow_start_mut().on_recovered(flight_size, smss);
    }

    /// The retransmission timer expired; `again` if it is not the first time for this data.
    fn on_timeout(&mut self, event: &CongestionEvent, again: bool) {
        // RFC 5681, 3.1: the threshold is held when the same data times out again.
        let ssthresh = if again { self.ssthresh() } else { self.decrease(event, true) };
        self.slow_start_mut().on_timeout(ssthresh, event.smss);
    }

    /// The peer reports congestion by ECN (RFC 3168): as a loss, without one.
    fn on_ecn(&mut self, event: &CongestionEvent) {
        self.on_loss(event);
    }

    /// A reduction follows that may prove a mistake.
    fn save_undo(&mut self) {
        self.slow_start_mut().save_undo();
    }

    /// It was a mistake: nothing had been lost (RFC 4015). The window goes back to what it was
    /// when [`Congestion::save_undo`] was called, but for now to at most `max` bytes; from there
    /// slow start goes on. True unless the window has grown beyond that meanwhile.
    fn undo(&mut self, max: Bytes) -> bool {
        self.slow_start_mut().undo(max)
    }

    /// The connection was idle for longer than the retransmission timeout (RFC 5681, 4.1).
    fn on_idle(&mut self) {
        self.slow_start_mut().on_idle();
    }

    /// What pacing goes by.
    fn pacing(&self) -> PacingBasis {
        self.slow_start().pacing()
    }

    /// Whether segments are paced though the sender is not told to.
    fn needs_pacing(&self) -> bool {
        false
    }

    /// Whether it keeps the flow below what the path takes, so that what is delivered next says
    /// nothing about the path, as if the application had no more to send.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Whether the sender is to bring the window down evenly in fast recovery where it is told to
    /// (RFC 9937). False: the window is what it is at any time.
    fn reduces_proportionally(&self) -> bool {
        true
    }

    /// Whether the window also grows in fast recovery: a loss need not mean congestion.
    fn grows_in_recovery(&self) -> bool {
        false
    }
}
