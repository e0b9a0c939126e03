//! What came out, as a table.

use super::{Case, Windows};
use std::fmt;

/// One transfer.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    /// Seconds from the SYN to the last byte.
    pub(crate) seconds: f64,
    pub(crate) retransmissions: u64,
    /// Seconds to each tenth of the file: the time-sequence graph in ten numbers.
    pub(crate) tenths: [f64; 10],
}

/// All runs of one case, on both sides.
pub(crate) struct Outcome {
    pub(crate) case: Case,
    pub(crate) kernel: Vec<Sample>,
    pub(crate) core: Vec<Sample>,
}

impl Outcome {
    pub(crate) const HEAD: &'static str = "\
control  Mbit/s  rtt ms  buffer  windows  loss    kernel Mbit/s    core Mbit/s   differ  agree   retransmissions   seconds to 10, 50, 90 %  apart";

    /// Without loss: within 5 %. With loss: the two 95 % confidence intervals overlap.
    fn agrees(&self) -> bool {
        let [(kernel, kernel_half), (core, core_half)] =
            [&self.kernel, &self.core].map(|samples| mean(samples, throughput));
        if self.case.loss > 0 {
            (kernel - core).abs() <= kernel_half + core_half
        } else {
            (core / kernel - 1.0).abs() <= 0.05
        }
    }
}

fn throughput(sample: &Sample) -> f64 {
    super::FILE as f64 * 8e-6 / sample.seconds
}

/// The mean, and half the width of its 95 % confidence interval (1.96 standard errors; for the
/// twenty runs that are the default Student's factor would be 2.09).
fn mean(samples: &[Sample], value: impl Fn(&Sample) -> f64) -> (f64, f64) {
    let count = samples.len() as f64;
    let mean = samples.iter().map(&value).sum::<f64>() / count;
    if samples.len() < 2 {
        return (mean, 0.0);
    }
    let squares: f64 = samples.iter().map(|sample| (value(sample) - mean).powi(2)).sum();
    (mean, 1.96 * (squares / (count - 1.0) / count).sqrt())
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Case { windows, mbit, control, round_trip_ms, buffer, loss } = self.case;
        let sides = [&self.kernel, &self.core];
        let [kernel, core] = sides.map(|samples| mean(samples, throughput));
        let [lost, ours] = sides.map(|s| mean(s, |sample| sample.retransmissions as f64).0);
        let tenth = |samples: &Vec<Sample>, i: usize| mean(samples, |sample| sample.tenths[i]).0;
        write!(
            f,
            "{:7} {mbit:7} {round_trip_ms:7} {buffer:6}%  {:7} {:5} {:9.3} ±{:.3} {:9.3} ±{:.3} {:+7.1}%  {:5} \
             {lost:8.0} {ours:8.0}  ",
            control.name(),
            if windows == Windows::Tuned { "tuned" } else { "large" },
            format!("{}%", f64::from(loss) / 10.0),
            kernel.0,
            kernel.1,
            core.0,
            core.1,
            (core.0 / kernel.0 - 1.0) * 100.0,
            if self.agrees() { "yes" } else { "NO" },
        )?;
        for i in [0, 4, 8] {
            write!(f, " {:.1}/{:.1}", tenth(&self.kernel, i), tenth(&self.core, i))?;
        }
        // The largest distance of the two time-sequence graphs, in seconds.
        let distance = |i| (tenth(&self.kernel, i) - tenth(&self.core, i)).abs();
        write!(f, " {:6.2}", (0..10).map(distance).fold(0.0, f64::max))
    }
}
