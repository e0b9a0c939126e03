//! Congestion control: the window and the pacing rate.
//!
//! A [`Congestion`] hears of bytes, times and losses; it never sees sequence numbers, and never
//! what recovery does. Windows are in bytes.

mod classic;
mod constant_rate;
mod control;
mod cubic;
mod growth;
mod hybla;
mod hystart;
mod increase_by_k;
mod per_ack;
mod slow_start;
mod standard;
#[cfg(test)]
mod tests;
mod text;
mod vegas;

pub use classic::{Classic, Increase};
pub use constant_rate::ConstantRate;
pub use control::Control;
pub use cubic::Cubic;
pub use growth::Growth;
pub use hybla::Hybla;
pub use hystart::{HyStart, Phase};
pub use increase_by_k::IncreaseByK;
pub use slow_start::{InitialWindowUse, Probing, SlowStart, SlowStartConfig};
pub use standard::Standard;
pub use text::UnknownControl;
pub use vegas::{Band, Vegas};

use crate::time::{Duration, Instant};
use std::fmt;

/// An acknowledgment of new data outside fast recovery.
#[derive(Debug, Clone, Copy)]
pub struct Acked {
    /// When it came.
    pub now: Instant,
    /// Bytes newly acknowledged, in order or not.
    pub bytes: u64,
    /// Sender maximum segment size.
    pub smss: u64,
    /// The round-trip time that it measured, if it did.
    pub rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The least round-trip time seen.
    pub min_rtt: Option<Duration>,
    /// Bytes in flight when it came.
    pub in_flight: u64,
    /// Round trips so far: it grows by one when the data that was sent right behind the last
    /// growth has been acknowledged.
    pub round: u64,
    /// Whether the window, not the application or the peer, limited what was in flight.
    pub window_limited: bool,
}

/// A congestion signal.
#[derive(Debug, Clone, Copy)]
pub struct Congested {
    /// When it was noticed.
    pub now: Instant,
    /// RFC 5681's FlightSize, without what limited transmit added.
    pub flight_size: u64,
    /// Sender maximum segment size.
    pub smss: u64,
}

/// A congestion control algorithm.
pub trait Congestion: fmt::Debug + Send {
    /// The congestion window in bytes; at least one segment.
    fn window(&self) -> u64;

    /// The slow start threshold in bytes.
    fn ssthresh(&self) -> u64;

    /// New data was acknowledged outside fast recovery.
    fn on_ack(&mut self, acked: &Acked);

    /// Fast recovery begins.
    fn on_loss(&mut self, congested: &Congested);

    /// Fast recovery ends with `flight_size` bytes outstanding.
    fn on_recovered(&mut self, flight_size: u64, smss: u64);

    /// The retransmission timer expired; `again` if it is not the first time for this data.
    fn on_timeout(&mut self, congested: &Congested, again: bool);

    /// The peer reports congestion by ECN (RFC 3168): as a loss, without one.
    fn on_ecn(&mut self, congested: &Congested) {
        self.on_loss(congested);
    }

    /// The last reduction was a mistake: nothing had been lost (RFC 4015's response). The window
    /// goes back to what it was before.
    fn undo(&mut self) {}

    /// The connection was idle for longer than the retransmission timeout (RFC 5681, 4.1).
    fn on_idle(&mut self);

    /// Sending begins, anew or again, and others already fill the path: use no more than
    /// `window` bytes at first.
    fn begin_within(&mut self, window: u64);

    /// How much faster than one window a round trip pacing should send, so that it does not
    /// itself hold the window's growth back.
    fn pacing_gain(&self) -> f64 {
        if self.window() < self.ssthresh() { 2.0 } else { 1.25 }
    }
}
