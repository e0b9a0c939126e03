//! How a link's elements are written: what is written is read as the same.

use super::super::gilbert_elliott::{GilbertElliott, States};
use super::super::{LossKind, Outages, Varying};
use super::Exact;
use crate::time::Instant;
use std::fmt;

impl fmt::Display for LossKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LossKind::Independent(Varying::Constant(probability)) => write!(f, "{probability}"),
            LossKind::Independent(Varying::Scheduled(_)) => f.write_str("scheduled"),
            LossKind::GilbertElliott(GilbertElliott { states, h, k }) => {
                match states {
                    States::PerPacket { p, r } => write!(f, "gilbert-elliott:p={p},r={r}")?,
                    States::InTime { good, bad } => {
                        write!(f, "gilbert-elliott:good={},bad={}", Exact(*good), Exact(*bad))?;
                    }
                }
                write!(f, ",h={h},k={k}")
            }
        }
    }
}

impl fmt::Display for Outages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((first, lasting, every)) = self.period() {
            let (first, lasting, every) = (Exact(first), Exact(lasting), Exact(every));
            return write!(f, "periodic:first={first},lasting={lasting},every={every}");
        }
        let times = self.times().unwrap_or_default();
        if times.is_empty() {
            return f.write_str("none");
        }
        for (i, time) in times.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            let start = Exact(time.start.saturating_since(Instant::ZERO));
            let lasting = Exact(time.end.saturating_since(time.start));
            write!(f, "{comma}{start}+{lasting}")?;
        }
        Ok(())
    }
}
