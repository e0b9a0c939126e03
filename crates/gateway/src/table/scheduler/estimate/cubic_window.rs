//! The window that several flows would have together, if each were CUBIC's (RFC 9438).
//!
//! A loss is one flow's, and lowers that one's part. MulTCP does the same for Reno's (Crowcroft and
//! Oechslin, 1998).

use super::segment::SEGMENT;
use bentpipe_core::time::Instant;

/// RFC 9438, 4.1 and 4.6: segments by cubed seconds, and the part that is taken out.
const C: f64 = 0.4;
const CUT: f64 = 0.3;

/// Segments leave faster than the window by a round trip, so that it is the window that holds them
/// back.
const PACE: f64 = 1.25;

/// See the module's head. Bytes and seconds.
#[derive(Debug, Clone, Copy)]
pub(super) struct CubicWindow {
    /// What it is.
    pub(super) bytes: f64,
    /// What it was when it was last lowered, when that was, and what it was lowered to.
    before: f64,
    lowered: Instant,
    from: f64,
    rtt: f64,
}

impl CubicWindow {
    /// Of flows that have lost something now, and had so much in flight.
    pub(super) fn new(now: Instant, bytes: f64, rtt: f64) -> CubicWindow {
        CubicWindow { bytes, before: bytes, lowered: now, from: bytes, rtt }
    }

    /// In bytes a second.
    pub(super) fn rate(&self) -> f64 {
        PACE * self.bytes / self.rtt
    }

    /// A round is over in which `lost` bytes were lost, of so many flows.
    pub(super) fn follow(&mut self, now: Instant, rtt: f64, lost: f64, flows: usize) {
        self.rtt = rtt;
        let flows = flows.max(1) as f64;
        let since = now.saturating_since(self.lowered).as_secs_f64();
        if lost > 0.0 {
            if since < rtt {
                // It was sent before.
                return;
            }
            let hit = (lost / SEGMENT).clamp(1.0, flows) / flows;
            (self.before, self.lowered) = (self.bytes, now);
            self.bytes *= 1.0 - CUT * hit;
            self.from = self.bytes;
            return;
        }
        // Each flow's part, in segments: from what it was lowered to, through what it was before.
        let part = |bytes: f64| bytes / flows / SEGMENT;
        let back = ((part(self.before) - part(self.from)) / C).cbrt();
        let cubic = part(self.before) + C * (since - back).powi(3);
        // On a short path Reno's is faster (RFC 9438, 4.3).
        let reno = part(self.from) + 3.0 * CUT / (2.0 - CUT) * since / rtt;
        self.bytes = self.bytes.max(cubic.max(reno) * flows * SEGMENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_core::time::Duration;

    const RTT: f64 = 0.5;

    /// Follows for so many round trips without a loss.
    fn follow(window: &mut CubicWindow, from: Instant, rounds: u32, flows: usize) -> Instant {
        let mut now = from;
        for _ in 0..rounds {
            now += Duration::from_secs_f64(RTT);
            window.follow(now, RTT, 0.0, flows);
        }
        now
    }

    #[test]
    fn it_returns_to_what_it_was_in_the_time_of_cubic() {
        let start = Instant::from_millis(1_000);
        let mut window = CubicWindow::new(start, 400.0 * SEGMENT, RTT);
        let lost = start + Duration::from_secs(1);
        window.follow(lost, RTT, 3.0 * SEGMENT, 1);
        assert!((window.bytes / SEGMENT - 280.0).abs() < 0.1);
        // What is found lost in this round trip was sent before.
        window.follow(lost + Duration::from_millis(400), RTT, 3.0 * SEGMENT, 1);
        assert!((window.bytes / SEGMENT - 280.0).abs() < 0.1);
        // K is the cube root of 120 / 0.4.
        let now = follow(&mut window, lost, 13, 1);
        assert!((399.0..401.0).contains(&(window.bytes / SEGMENT)), "{}", window.bytes / SEGMENT);
        follow(&mut window, now, 10, 1);
        assert!((435.0..455.0).contains(&(window.bytes / SEGMENT)), "{}", window.bytes / SEGMENT);
    }

    #[test]
    fn of_many_flows_those_that_lose_are_lowered_and_all_grow() {
        let start = Instant::from_millis(1_000);
        let [mut few, mut all] = [CubicWindow::new(start, 400.0 * SEGMENT, RTT); 2];
        let lost = start + Duration::from_secs(1);
        few.follow(lost, RTT, 2.0 * SEGMENT, 10);
        all.follow(lost, RTT, 90.0 * SEGMENT, 10);
        assert!(
            (few.bytes / SEGMENT - 376.0).abs() < 0.1 && (all.bytes / SEGMENT - 280.0).abs() < 0.1
        );
        // Each has a tenth, and K is the cube root of 12 / 0.4.
        follow(&mut all, lost, 7, 10);
        assert!((398.0..403.0).contains(&(all.bytes / SEGMENT)), "{}", all.bytes / SEGMENT);
    }
}
