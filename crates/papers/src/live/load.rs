//! How much of the processors a run takes, so that not more go side by side than a machine carries:
//! a host whose process waits for a processor is another host than the simulated one. Long runs
//! wait most of their time for packets, and many fit. Short ones are hardly more than their
//! testbeds' setting up and taking down.

use super::Programs;
use crate::run::PointRuns;
use bentpipe_lab::tables::Table;

/// Of each processor so much may be in use. With 16 runs of transfers of 100 KB at a time all of
/// two processors were, and throughputs differed by up to 65 % from what three at a time gave.
const ROOM: f64 = 0.5;

/// Processor time of setting up and taking down a testbed, of a browser's start, and of a packet on
/// a link, in seconds; and the share of a processor in use while nothing happens. Measured with one
/// run at a time on two processors (AMD EPYC).
const SET_UP: f64 = 0.6;
const BROWSER: f64 = 2.0;
const PACKET: f64 = 25e-6;
const IDLE: f64 = 0.03;

/// How long setting up and taking down takes, in seconds.
const SET_UP_TIME: f64 = 0.9;

/// Of a run.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How long it takes, in seconds.
    pub seconds: f64,
    /// How many processors it takes meanwhile.
    pub processors: f64,
}

impl Load {
    /// Of a run that lasts so many seconds, in which links carry so many packets.
    fn new(seconds: f64, packets: f64, browser: bool) -> Load {
        let begun = if browser { SET_UP + BROWSER } else { SET_UP };
        let seconds = seconds + SET_UP_TIME;
        Load { seconds, processors: IDLE + (begun + packets * PACKET) / seconds }
    }

    /// As the simulator says; without its word the run lasts for `longest` seconds.
    pub(super) fn of(point: &PointRuns, programs: Option<Programs>, longest: f64) -> Load {
        let mean = |table, column| point.mean_sum(table, column).ok();
        let seconds = mean(Table::Runs, "end_s").unwrap_or(longest);
        let packets = mean(Table::Links, "delivered_packets").unwrap_or(0.0);
        Load::new(seconds, packets, programs == Some(Programs::Chromium))
    }
}

/// The most that may be in use of so many processors.
pub(super) fn room(processors: usize) -> f64 {
    ROOM * processors as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_long_runs_many_fit_and_of_short_ones_few() {
        let fit = |load: Load| (room(2) / load.processors) as usize;
        // 10 MB over half a second with windows of 8 KB, 100 KB over 8 Mbit/s by forty, and pages.
        assert!(fit(Load::new(700.0, 65_000.0, false)) > 16);
        assert_eq!(fit(Load::new(3.0, 20_000.0, false)), 3);
        assert_eq!(fit(Load::new(0.8, 1_000.0, false)), 2);
        assert_eq!(fit(Load::new(3.0, 3_000.0, true)), 1);
    }
}
