//! The Linux kernel as witness: the same transfers kernel to kernel through the live emulator, and
//! core to core in virtual time, side by side.
//!
//! ```text
//! cargo bench -p bentpipe --bench kernel_witness -- [--runs N] [--parallel N] [--kernel FILE] [--only TEXT]
//! ```
//!
//! 10 MB over 8 Mbit/s at 50 and 500 ms, with half and one bandwidth-delay product of buffer,
//! without loss (one run) and with 0.5 % (N runs, default 20); BBR, which is version 1, with one
//! product and also with 1 %. Needs root. CUBIC's HyStart is switched off on both sides for the
//! time of the run. The kernel tunes its windows, with the sysctls of a new namespace. The core has
//! windows as large as may be, so that what differs is the sender; and in the cases `-tuned`, also
//! over 40 Mbit/s, the preset `linux`, so that receivers are compared.
//!
//! The kernel's transfers take as long as they take, ours do not. With `--kernel` the kernel's
//! samples are kept in a file: those that it has are taken from there, new ones are added.
//! `linux-6.18.txt` beside this file has those of two quiet cores: `--kernel
//! benches/kernel_witness/linux-6.18.txt` compares with them in seconds, without root.
//! `--only` takes the cases whose name (as in that file: `reno-50-50-lossy`) contains a text.

mod core_side;
mod kernel_side;
mod outcome;
mod samples;

use bentpipe_core::time::Duration;
use bentpipe_core::units::{Bytes, Probability, Rate};
use bentpipe_linux::netns::teardown;
use bentpipe_testbed::five_hosts::SatelliteLink;
use outcome::{Outcome, Sample};
use samples::Kept;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes of one transfer.
pub(crate) const FILE: u64 = 10_000_000;

/// The congestion controls that both sides have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum CongestionAlgorithm {
    Reno,
    Cubic,
    /// Version 1.
    Bbr,
}

impl CongestionAlgorithm {
    /// The kernel's name for it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CongestionAlgorithm::Reno => "reno",
            CongestionAlgorithm::Cubic => "cubic",
            CongestionAlgorithm::Bbr => "bbr",
        }
    }
}

/// The receive window of the core's side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Windows {
    /// As large as may be, from the beginning.
    Large,
    /// The preset's, which grow.
    Tuned,
}

/// One row of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    windows: Windows,
    mbit: u64,
    control: CongestionAlgorithm,
    round_trip_ms: u64,
    /// Buffer in percent of the bandwidth-delay product.
    buffer: u64,
    /// In tenths of a percent.
    loss: u32,
}

impl Case {
    fn all() -> Vec<Case> {
        let mut cases = Vec::new();
        for loss in [0, 5] {
            for control in [CongestionAlgorithm::Reno, CongestionAlgorithm::Cubic] {
                for round_trip_ms in [50, 500] {
                    for buffer in [50, 100] {
                        let windows = Windows::Large;
                        let case = Case { windows, mbit: 8, control, round_trip_ms, buffer, loss };
                        cases.push(case);
                        if buffer == 100 && loss == 0 {
                            cases.push(Case { windows: Windows::Tuned, ..case });
                        }
                    }
                }
            }
        }
        for control in [CongestionAlgorithm::Reno, CongestionAlgorithm::Cubic] {
            let link = Case { windows: Windows::Tuned, mbit: 40, round_trip_ms: 500, ..cases[0] };
            // The queue holds more than a sender, and so its bursts when it may write again.
            cases.push(Case { control, buffer: 200, loss: 0, ..link });
        }
        cases.extend(Case::of_bbr());
        cases
    }

    /// With the core's windows tuned as the kernel's: what Startup loses depends on them.
    fn of_bbr() -> impl Iterator<Item = Case> {
        let cases = [0, 5, 10].into_iter().flat_map(|loss| [50, 500].map(|rtt| (loss, rtt)));
        cases.map(|(loss, round_trip_ms)| {
            let (windows, control) = (Windows::Tuned, CongestionAlgorithm::Bbr);
            Case { windows, mbit: 8, control, round_trip_ms, buffer: 100, loss }
        })
    }

    pub(crate) fn link(self) -> SatelliteLink {
        let delay = Duration::from_millis(self.round_trip_ms / 2);
        let rate = Rate::from_bits_per_sec(self.mbit * 1_000_000);
        SatelliteLink {
            rate,
            delay,
            queue: Bytes::new(rate.bytes_in(2 * delay) * self.buffer / 100),
            loss: Probability::new(f64::from(self.loss) / 1000.0).expect("between 0 and 1"),
        }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.control.name(), self.round_trip_ms, self.buffer)?;
        if self.mbit != 8 {
            write!(f, "-{}mbit", self.mbit)?;
        }
        if self.windows == Windows::Tuned {
            write!(f, "-tuned")?;
        }
        match self.loss {
            0 => Ok(()),
            5 => write!(f, "-lossy"),
            loss => write!(f, "-lossy{loss}"),
        }
    }
}

fn main() {
    // `cargo bench` adds --bench; a test runner that lists or filters gets nothing.
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let text = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name);
        at.and_then(|at| arguments.get(at + 1)).map(String::as_str)
    };
    let number = |name: &str, default: usize| {
        text(name).map_or(default, |text| {
            text.parse().unwrap_or_else(|_| panic!("{name} takes a number, not `{text}`"))
        })
    };
    let (runs, parallel) = (number("--runs", 20), number("--parallel", 12));
    let kept = Kept::open(text("--kernel"));
    let only = text("--only").unwrap_or_default();

    let jobs: Vec<(Case, u64)> = Case::all()
        .into_iter()
        .filter(|case| case.to_string().contains(only))
        .flat_map(|case| {
            (0..if case.loss > 0 { runs as u64 } else { 1 }).map(move |run| (case, run))
        })
        .collect();
    let all_kept = jobs.iter().all(|(case, run)| kept.sample(*case, *run).is_some());
    if !all_kept && !nix::unistd::geteuid().is_root() {
        println!("kernel witness skipped: network namespaces need root");
        return;
    }
    teardown::on_signals().expect("signal handlers");
    teardown::remove_leftovers();
    let _hystart = kernel_side::HystartOff::new();

    let next = AtomicUsize::new(0);
    let samples: Mutex<BTreeMap<Case, [Vec<Sample>; 2]>> = Mutex::default();
    std::thread::scope(|scope| {
        for _ in 0..parallel {
            scope.spawn(|| {
                while let Some(&(case, run)) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let kernel = kept.sample(case, run).unwrap_or_else(|| {
                        let sample = kernel_side::transfer(case, run);
                        kept.keep(case, run, &sample);
                        sample
                    });
                    let pair = [kernel, core_side::transfer(case, run)];
                    let mut samples = samples.lock().expect("no thread has panicked");
                    let columns = samples.entry(case).or_default();
                    for (column, sample) in columns.iter_mut().zip(pair) {
                        column.push(sample);
                    }
                    let done: usize = samples.values().map(|[kernel, _]| kernel.len()).sum();
                    eprint!("\r{done}/{} transfers", jobs.len());
                }
            });
        }
    });
    eprintln!();
    println!("{}", Outcome::HEAD);
    for (case, [kernel, core]) in samples.into_inner().expect("no thread has panicked") {
        println!("{}", Outcome { case, kernel, core });
    }
}
