//! How a link's elements are written: what is written is read as the same.

use super::super::gilbert_elliott::{GilbertElliott, States};
use super::super::{
    CoDelConfig, FqCoDelConfig, LossKind, Measure, Outages, PieConfig, PolicerConfig, QueueKind,
    QueueName, RedConfig, Varying,
};
use crate::text::Choice;
use crate::time::{Duration, Instant};
use std::fmt;

/// A time, in the largest unit that says it exactly.
struct Exact(Duration);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let nanos = self.0.as_nanos();
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        match units.into_iter().find(|(unit, _)| nanos.is_multiple_of(*unit)) {
            Some((unit, name)) => write!(f, "{}{name}", nanos / unit),
            None => write!(f, "{nanos}ns"),
        }
    }
}

fn on(switch: bool) -> &'static str {
    if switch { "on" } else { "off" }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for QueueKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", QueueName::from(self))?;
        match self {
            QueueKind::DropTail(limit) => write!(f, "limit={limit}"),
            QueueKind::Red(red) => {
                let RedConfig { limit, min_threshold: min, max_threshold: max, weight, .. } = red;
                write!(f, "limit={limit},min-threshold={min},max-threshold={max},weight={weight}")?;
                write!(f, ",max-p={},mean-packet={}B", red.max_p, red.mean_packet.count())?;
                write!(f, ",gentle={},wait={}", on(red.gentle), on(red.wait))?;
                write!(f, ",average={},drops={},ecn={}", red.average, red.drops, on(red.ecn))
            }
            QueueKind::CoDel(CoDelConfig { limit, target, interval, ecn }) => {
                let (target, interval) = (Exact(*target), Exact(*interval));
                let ecn = on(*ecn);
                write!(f, "limit={limit},target={target},interval={interval},ecn={ecn}")
            }
            QueueKind::FqCoDel(config) => {
                let FqCoDelConfig { limit, flows, quantum, .. } = config;
                let (target, interval) = (Exact(config.target), Exact(config.interval));
                write!(f, "limit={limit},flows={flows},quantum={}B", quantum.count())?;
                write!(f, ",target={target},interval={interval},ecn={}", on(config.ecn))
            }
            QueueKind::Pie(PieConfig { limit, target, update, burst, alpha, beta, ecn }) => {
                let [target, update, burst] = [target, update, burst].map(|span| Exact(*span));
                write!(f, "limit={limit},target={target},update={update},burst={burst}")?;
                write!(f, ",alpha={alpha},beta={beta},ecn={}", on(*ecn))
            }
            QueueKind::Policer(PolicerConfig { rate, burst, limit }) => {
                write!(f, "rate={rate},burst={}B,limit={limit}", burst.count())
            }
        }
    }
}

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
