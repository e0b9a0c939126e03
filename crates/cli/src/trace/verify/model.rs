//! The bytes and delays of a saturated link, computed from a trace's rows alone.

use bentpipe_core::time::Duration;
use bentpipe_links::foreign::{Rows, Step};

/// The bytes that the rate of `rows` carries in each of `count` windows.
pub(super) fn bytes(rows: &Rows, window: Duration, count: u32) -> Vec<f64> {
    let steps = rows.rate.steps();
    let end = window * count;
    let mut windows = vec![0.0; count as usize];
    for (index, step) in steps.iter().enumerate() {
        let until = steps.get(index + 1).map_or(end, |next| next.at).min(end);
        let bytes_a_second = step.value.bits_per_sec() as f64 / 8.0;
        let mut at = step.at;
        while at < until {
            let number = (at.as_nanos() / window.as_nanos()) as u32;
            let close = (window * (number + 1)).min(until);
            windows[number as usize] += bytes_a_second * (close - at).as_secs_f64();
            at = close;
        }
    }
    windows
}

/// The delay that holds at `at`.
pub(super) fn delay(steps: &[Step<Duration>], at: Duration) -> Duration {
    let later = steps.partition_point(|step| step.at <= at);
    later.checked_sub(1).map_or(Duration::ZERO, |index| steps[index].value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_links::foreign;

    #[test]
    fn windows_share_a_step_by_its_time() {
        let rows =
            foreign::read(&[("x", "time_ms,rate_mbps,delay_ms\n0,8,5\n150,16,7\n")]).unwrap();
        let found = bytes(&rows, Duration::from_millis(100), 3);
        assert_eq!(found, [100_000.0, 150_000.0, 200_000.0]);
        let at = |ms| delay(rows.delay.steps(), Duration::from_millis(ms)).as_millis();
        assert_eq!((at(0), at(149), at(150), at(900)), (5, 5, 7, 7));
    }
}
