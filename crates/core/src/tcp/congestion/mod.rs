//! Congestion control: the window and the pacing rate.
//!
//! A [`Congestion`] hears of bytes, times and losses; it never sees sequence numbers, and of
//! recovery only its phase. It answers with a window, a rate and a [`Response`]; the sender applies
//! them. Windows are in bytes.

mod ack_rate;
mod ack_train;
mod algorithm;
mod bbr;
mod bbr1;
mod classic;
mod constant_rate;
mod copa;
mod cubic;
mod event;
mod external;
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
mod search;
mod shared_link;
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
pub use bbr1::{Bbr1, LeoCc};
pub use classic::{Classic, Increase, Increment};
pub use constant_rate::ConstantRate;
pub use copa::Copa;
pub use cubic::Cubic;
pub use event::{AckEvent, CongestionEvent, Departed, LinkReport, Lost, RecoveryPhase, Response};
pub use external::{External, ExternalControl};
pub use first_threshold::ThresholdEstimate;
pub use growth::Growth;
pub use highspeed::HighSpeed;
pub use hybla::Hybla;
pub use hystart::{HyStart, HyStartPhase};
pub use increase_by_k::IncreaseByK;
pub use known_link::KnownLink;
pub use scalable::Scalable;
pub use shared_link::SharedLink;
pub use slow_start::{InitialWindowUse, Probing, SlowStart, SlowStartConfig};
pub use spread::segments_for;
pub use standard::Standard;
pub use tolerant_cubic::TolerantCubic;
pub use vegas::{Band, Vegas};
pub use westwood::Westwood;

use crate::snapshot::Snapshot;
use crate::units::{Bytes, Rate};
use std::fmt;

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

/// A congestion control algorithm: what it makes of acknowledgments and losses.
///
/// The course of window and threshold through slow start, losses and idle times is provided, as all
/// share it. The sender promises:
///
/// - [`on_sent`](Congestion::on_sent) comes for each segment that has left, in order.
/// - [`on_ack`](Congestion::on_ack) comes once for each acknowledgment that acknowledges, reports
///   or shows something new. Every byte delivered or lost is in one event.
/// - The findings of recovery come before that: [`on_lost`](Congestion::on_lost) for each segment,
///   then the one signal that follows from it ([`on_loss`](Congestion::on_loss),
///   [`on_recovered`](Congestion::on_recovered)). A timer may bring these, and
///   [`on_timeout`](Congestion::on_timeout), without an acknowledgment.
/// - [`undo`](Congestion::undo) follows only on [`save_undo`](Congestion::save_undo), and precedes
///   the acknowledgment's event.
/// - Window, threshold and pacing may be asked for at any time, and change only by what is said
///   here.
pub trait Congestion: fmt::Debug + Snapshot + Send {
    /// The window, the threshold, and slow start.
    fn slow_start(&self) -> &SlowStart;

    /// The same, to be changed.
    fn slow_start_mut(&mut self) -> &mut SlowStart;

    /// Takes an acknowledgment, in fast recovery or not.
    fn on_ack(&mut self, ack: &AckEvent) -> Response;

    /// A segment has left. Pacing asks for its rate behind this.
    fn on_sent(&mut self, _departed: &Departed) {}

    /// A segment is marked lost.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// The new threshold after a loss or a timeout. What congestion avoidance has accumulated is
    /// void.
    fn decrease(&mut self, event: &CongestionEvent, _timeout: bool) -> Bytes {
        event.half()
    }

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

    /// Whether segments are paced though the sender is not configured to.
    fn needs_pacing(&self) -> bool {
        false
    }

    /// Whether the sender is to bring the window down evenly in fast recovery where it is
    /// configured to (RFC 9937). False: the window is what it is at any time.
    fn reduces_proportionally(&self) -> bool {
        true
    }
}
