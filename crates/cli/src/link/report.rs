//! What `bentpipe link` says at its end: of the packets, and of itself.

use bentpipe_core::link::{Count, Counters};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;
use bentpipe_emulator::summary::LinkSummary;
use bentpipe_linux::processor_times::Steal;
use serde_json::{Value, json};
use std::io::{self, Write};

/// A run of the emulator, as it is told.
pub(super) struct Report<'a> {
    pub(super) summary: &'a LinkSummary,
    /// Of the directions.
    pub(super) names: &'a [String; 2],
    /// What the machine's hypervisor took of the processors' time.
    pub(super) steal: Option<Steal>,
}

impl Report<'_> {
    /// Prints it, with a warning last if the emulator was late.
    pub(super) fn print(&self, as_json: bool, out: &mut dyn Write) -> io::Result<()> {
        if as_json {
            return writeln!(out, "{}", self.json());
        }
        let LinkSummary { directions, duplicated, damaged, rates, .. } = self.summary;
        for (i, name) in self.names.iter().enumerate() {
            let Counters { offered, dropped, lost, marked, delivered } = directions[i];
            write!(
                out,
                "{name}: {} packets ({} bytes) offered, {} dropped by the queue, {} marked, {} lost, \
                 {} ({} bytes) delivered",
                offered.packets,
                offered.bytes,
                dropped.packets,
                marked.packets,
                lost.packets,
                delivered.packets,
                delivered.bytes,
            )?;
            for (count, what) in [(duplicated[i], "arrived twice"), (damaged[i], "damaged")] {
                if count.packets > 0 {
                    write!(out, ", {} {what}", count.packets)?;
                }
            }
            match rates[i] {
                Some(rate) => writeln!(out, ", at {}", approximate(rate))?,
                None => writeln!(out)?,
            }
        }
        let lateness = &self.summary.lateness;
        let [p50, p99] = [0.5, 0.99].map(|share| micros(lateness.quantile(share)));
        let max = micros(lateness.max());
        write!(
            out,
            "released late by {p50} us (median), {p99} us (99 %), {max} us at most; {} of {} packets by more \
             than 1 ms",
            lateness.late_packets(),
            lateness.packets(),
        )?;
        match self.steal {
            Some(steal) => {
                writeln!(out, "; steal time {:.1} s ({:.1} %)", steal.seconds, steal.percent)?;
            }
            None => writeln!(out)?,
        }
        match self.warning() {
            Some(warning) => writeln!(out, "{warning}"),
            None => Ok(()),
        }
    }

    pub(super) fn json(&self) -> Value {
        let LinkSummary { directions, refused, duplicated, damaged, rates, lateness } =
            self.summary;
        let count = |count: Count| json!({ "packets": count.packets, "bytes": count.bytes });
        let direction = |i: usize| {
            let counters = directions[i];
            json!({
                "direction": self.names[i],
                "offered": count(counters.offered),
                "dropped": count(counters.dropped),
                "lost": count(counters.lost),
                "marked": count(counters.marked),
                "delivered": count(counters.delivered),
                "duplicated": count(duplicated[i]),
                "damaged": count(damaged[i]),
                "refused_by_kernel_packets": refused[i],
                "rate_bit_s": rates[i].map(Rate::bits_per_sec),
            })
        };
        json!({
            "directions": [direction(0), direction(1)],
            "release_error_p50_us": micros(lateness.quantile(0.5)),
            "release_error_p99_us": micros(lateness.quantile(0.99)),
            "release_error_max_us": micros(lateness.max()),
            "released_packets": lateness.packets(),
            "late_packets": lateness.late_packets(),
            "steal_s": self.steal.map(|steal| steal.seconds),
            "steal_percent": self.steal.map(|steal| steal.percent),
            "warning": self.warning(),
        })
    }

    /// That this machine is too slow or too busy, if it is.
    pub(super) fn warning(&self) -> Option<String> {
        let lateness = &self.summary.lateness;
        lateness.is_late().then(|| {
            format!(
                "bentpipe link: warning: 1 packet in 100 left more than {} us late: this machine does not keep up \
                 with the link",
                micros(lateness.quantile(0.99))
            )
        })
    }
}

pub(super) fn micros(span: Duration) -> f64 {
    (span.as_secs_f64() * 1e7).round() / 10.0
}

/// To four digits.
fn approximate(rate: Rate) -> String {
    let bits = rate.bits_per_sec();
    match bits {
        0..10_000 => format!("{bits}bit/s"),
        10_000..10_000_000 => format!("{:.1}kbit/s", bits as f64 / 1e3),
        _ => format!("{:.2}Mbit/s", bits as f64 / 1e6),
    }
}
