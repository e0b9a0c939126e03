//! Outages: times at which nothing that is on the air arrives, as when a satellite is out of sight.
//!
//! The line goes on sending (what the sender's side does not know it cannot wait for); a line that
//! stands still is one whose rate is zero for a while.

use super::loss::{LossModel, Transmission};
use crate::time::{Duration, Instant};
use std::ops::Range;
use std::sync::Arc;

/// When a link is out. A packet is lost if any moment of its transmission lies in an outage; one
/// that ends just when an outage begins, or begins just when one ends, arrives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outages(Kind);

#[derive(Debug, Clone, PartialEq, Default)]
enum Kind {
    #[default]
    None,
    Listed(Arc<[Range<Instant>]>),
    Periodic {
        first: Duration,
        lasting: Duration,
        every: Duration,
    },
}

/// Why times make no [`Outages`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutagesError {
    /// An outage ends when it begins, or before.
    #[error("an outage must last longer than nothing: {0:?}")]
    Empty(Range<Instant>),
    /// An outage begins before the one before it has ended.
    #[error("outages must be in order and apart: {0:?} begins before {1:?} has ended")]
    Order(Range<Instant>, Range<Instant>),
    /// An outage lasts longer than the time from one to the next.
    #[error("an outage of {lasting:?} every {every:?} leaves no time between")]
    Period {
        /// How long each lasts.
        lasting: Duration,
        /// From the beginning of one to that of the next.
        every: Duration,
    },
}

impl Outages {
    /// No outage.
    pub const NONE: Outages = Outages(Kind::None);

    /// Outages at these times, in order.
    ///
    /// # Errors
    /// [`OutagesError`].
    pub fn listed(times: Vec<Range<Instant>>) -> Result<Outages, OutagesError> {
        if let Some(empty) = times.iter().find(|time| time.start >= time.end) {
            return Err(OutagesError::Empty(empty.clone()));
        }
        if let Some(pair) = times.windows(2).find(|pair| pair[1].start < pair[0].end) {
            return Err(OutagesError::Order(pair[1].clone(), pair[0].clone()));
        }
        Ok(Outages(if times.is_empty() { Kind::None } else { Kind::Listed(times.into()) }))
    }

    /// An outage of `lasting` at `first` and then `every` so often.
    ///
    /// # Errors
    /// [`OutagesError`].
    pub fn periodic(
        first: Duration,
        lasting: Duration,
        every: Duration,
    ) -> Result<Outages, OutagesError> {
        if lasting.is_zero() || lasting >= every {
            return Err(OutagesError::Period { lasting, every });
        }
        Ok(Outages(Kind::Periodic { first, lasting, every }))
    }

    /// The times, if they are listed; empty if there are none.
    pub fn times(&self) -> Option<&[Range<Instant>]> {
        match &self.0 {
            Kind::None => Some(&[]),
            Kind::Listed(times) => Some(times),
            Kind::Periodic { .. } => None,
        }
    }

    /// First, lasting and every, if they are periodic.
    pub fn period(&self) -> Option<(Duration, Duration, Duration)> {
        match self.0 {
            Kind::Periodic { first, lasting, every } => Some((first, lasting, every)),
            _ => None,
        }
    }

    /// Whether any moment of `sent` lies in an outage.
    #[inline]
    pub fn hit(&self, sent: &Transmission) -> bool {
        match &self.0 {
            Kind::None => false,
            Kind::Listed(times) => {
                let next = times.partition_point(|time| time.end <= sent.began);
                times.get(next).is_some_and(|time| overlaps(time, sent))
            }
            Kind::Periodic { first, lasting, every } => {
                let first = Instant::ZERO + *first;
                // The last outage that begins by the end of the transmission.
                let Some(since) = sent.ended.as_nanos().checked_sub(first.as_nanos()) else {
                    return false;
                };
                // An outage that begins just at the end does not reach back.
                let since = if sent.began < sent.ended { since.saturating_sub(1) } else { since };
                let begun = (u128::from(since) / every.as_nanos() * every.as_nanos()) as u64;
                let start = first + Duration::from_nanos(begun);
                overlaps(&(start..start + *lasting), sent)
            }
        }
    }
}

fn overlaps(outage: &Range<Instant>, sent: &Transmission) -> bool {
    if sent.began == sent.ended {
        return outage.contains(&sent.began);
    }
    outage.start < sent.ended && outage.end > sent.began
}

impl LossModel for Outages {
    #[inline]
    fn loses(&mut self, sent: &Transmission) -> bool {
        self.hit(sent)
    }

    fn silences(&self, sent: &Transmission) -> bool {
        self.hit(sent)
    }
}
