//! Window auto-tuning as Linux 6.18 does it (`net/ipv4/tcp_input.c`): dynamic right-sizing (Fisk
//! and Feng, 2001) with head room. What the application has read in a round trip is what the sender
//! had in flight a round trip ago; it may double that twice before a larger window is heard of.
//!
//! - `tcp_rcv_rtt_update`: the round trip is measured by the echo of our timestamps, and by the
//!   time in which a whole window arrives, which is a round trip or more.
//! - `tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`: the buffer grows with what was read in a round
//!   trip, and ahead of it by how much faster that was than the best round before.
//! - `tcp_grow_window`: the window opens towards the buffer by two bytes for each that arrives.
//!
//! Linux counts the memory of packets and reckons it up into windows (`scaling_ratio`); here a
//! buffer holds as many bytes as it has. What has arrived beyond a hole takes its place in Linux's
//! buffer beside the window, so that Linux adds it to the size. Here it lies within the window, and
//! is not added.

use crate::time::{Duration, Instant};
use crate::units::{Bytes, Offset};

/// `TCP_INIT_CWND`: what the first round trip is expected to bring, in segments.
const INITIAL_SEGMENTS: u64 = 10;

/// The least payload for which the window opens: smaller ones waste memory (`tcp_event_data_recv`).
const WORTH_OPENING: Bytes = Bytes::new(128);

/// `TCP_MSS_DEFAULT`: a payload of that size counts as a full segment as long as none was larger.
const SMALLEST_FULL: Bytes = Bytes::new(536);

/// A receive buffer that grows, and the window that opens into it.
#[derive(Debug, Clone)]
pub struct AutoTuning {
    mss: Bytes,
    max: Bytes,
    /// `window_clamp`: as much as the buffer holds.
    buffer: Bytes,
    /// `rcv_ssthresh`: so much of it the window may show.
    opened: Bytes,
    /// `rcvq_space.space`: what was read in the best round trip so far.
    space: Bytes,
    /// When the present round trip began, and how far the application had read then.
    round: (Instant, Offset),
    /// `rcv_rtt_est.rtt_us`.
    rtt: Option<Duration>,
    /// The newest echo that was measured by.
    echo: Option<u32>,
    /// The largest payload so far: what is as large measures the round trip.
    full: Bytes,
    /// When the measurement of a window's arrival began, and the offset that ends it.
    window: Option<(Instant, Offset)>,
    /// When the last segment came, and the next offset that was expected then.
    last: (Instant, Offset),
}

/// What is known when a segment with data has arrived.
#[derive(Debug, Clone, Copy)]
pub struct Observed {
    /// When it came.
    pub now: Instant,
    /// The length of its payload.
    pub len: Bytes,
    /// How many of its bytes open the window: the new ones. Beyond a hole none, if SACK was not
    /// agreed on: there an acknowledgment is a duplicate only as long as its window stays.
    pub opening: Bytes,
    /// The next offset that is expected.
    pub rcv_nxt: Offset,
    /// One past the last offset that was advertised to the peer.
    pub rcv_adv: Offset,
    /// The next offset that the application reads.
    pub read: Offset,
    /// The timestamp that it echoes, and how long ago that was sent.
    pub echoed: Option<(u32, Duration)>,
}

impl AutoTuning {
    /// A buffer of `buffer` bytes that may grow to `max`, for a stream that begins at offset 1, in
    /// segments of `mss`. The handshake is complete `now`.
    pub fn new(now: Instant, mss: Bytes, buffer: Bytes, max: Bytes) -> AutoTuning {
        AutoTuning {
            mss,
            max: max.max(buffer),
            buffer,
            opened: buffer,
            space: buffer.min(INITIAL_SEGMENTS * mss).max(Bytes::ONE),
            round: (now, Offset::FIRST),
            rtt: None,
            echo: None,
            full: mss.min(SMALLEST_FULL),
            window: None,
            last: (now, Offset::FIRST),
        }
    }

    /// The buffer's size now, in bytes.
    pub fn buffer(&self) -> Bytes {
        self.buffer
    }

    /// The round-trip time as the receiver sees it.
    pub fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    /// One past the last offset that may be advertised, where `rcv_nxt` is expected next and the
    /// application reads at `read`.
    pub fn limit(&self, rcv_nxt: Offset, read: Offset) -> Offset {
        (rcv_nxt + self.opened).min(read + self.buffer)
    }

    /// A segment with data has arrived.
    pub fn on_data(&mut self, observed: &Observed) {
        self.measure_by_echo(observed);
        self.measure_by_window(observed);
        self.full = self.full.max(observed.len);
        self.last = (observed.now, observed.rcv_nxt);
        if observed.opening >= WORTH_OPENING {
            let step = 2 * observed.opening.max(self.mss);
            self.opened = (self.opened + step).min(self.buffer);
        }
    }

    /// The application has read up to `read`. Time passes with segments only.
    pub fn on_read(&mut self, read: Offset) {
        let ((now, rcv_nxt), (began, from)) = (self.last, self.round);
        let Some(rtt) = self.rtt else { return };
        if now.saturating_since(began) < rtt {
            return;
        }
        // What came in a rush and is not read yet says less of the path than of the application.
        let unread = rcv_nxt.saturating_sub(read);
        let copied = (read - from).saturating_sub(unread);
        if copied > self.space {
            self.grow(copied);
        }
        self.round = (now, read);
    }

    /// So much was read in a round trip, more than in any before.
    fn grow(&mut self, copied: Bytes) {
        // By the time that the new window is heard of the sender has doubled this once,
        let twice = copied.saturating_mul(2);
        // and more if it has become faster, as in slow start.
        let faster = twice.saturating_mul((copied - self.space).count()) / self.space.count();
        self.space = copied;
        let wanted = twice.saturating_add(faster.saturating_mul(2)).min(self.max);
        self.buffer = self.buffer.max(wanted);
    }

    /// A full segment that is the first to echo a timestamp was sent when that came. Below a
    /// millisecond, the timestamps' unit, there is nothing to be told.
    fn measure_by_echo(&mut self, observed: &Observed) {
        let Some((echo, age)) = observed.echoed else { return };
        if self.echo.replace(echo) == Some(echo) || observed.len < self.full || age.is_zero() {
            return;
        }
        match self.rtt {
            // The path's queue may grow. What waits for the application does not measure it.
            Some(rtt) if age >= rtt => {
                if self.last.1 == observed.read {
                    self.rtt = Some(rtt - rtt / 8 + age / 8);
                }
            }
            _ => self.rtt = Some(age),
        }
    }

    /// A whole window has arrived. A sender that had less to send took longer, so that only the
    /// least counts.
    fn measure_by_window(&mut self, observed: &Observed) {
        let Observed { now, rcv_nxt, rcv_adv, .. } = *observed;
        if let Some((began, end)) = self.window {
            if rcv_nxt < end {
                return;
            }
            let took = now.saturating_since(began).max(Duration::from_micros(1));
            self.rtt = Some(self.rtt.map_or(took, |rtt| rtt.min(took)));
        }
        self.window = Some((now, rcv_adv.max(rcv_nxt + Bytes::ONE)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: Bytes = Bytes::new(1448);

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// A full segment has come, behind which `end` is expected, and all before it had been read.
    fn full(millis: u64, end: Offset, echoed: Option<(u32, Duration)>) -> Observed {
        let (now, read) = (at(millis), end - MSS);
        Observed {
            now,
            len: MSS,
            opening: MSS,
            rcv_nxt: end,
            rcv_adv: end + Bytes::new(65_536),
            read,
            echoed,
        }
    }

    /// `segments` come at `millis` and are read at once.
    fn flight(tuning: &mut AutoTuning, millis: u64, read: &mut Offset, segments: u64) {
        for _ in 0..segments {
            *read += MSS;
            tuning.on_data(&full(millis, *read, Some((millis as u32, ms(500)))));
            tuning.on_read(*read);
        }
    }

    #[test]
    fn the_buffer_grows_as_the_kernels_in_slow_start() {
        // What `ss -tmi` shows as the buffer of a host with Linux 6.18, at rcv_space 28960, 57920
        // and 115840 of a download over 8 Mbit/s and 500 ms. Of it 160/256 are window
        // (scaling_ratio).
        let kernel = [244_316, 556_032, 1_112_064u64];
        let mut tuning = AutoTuning::new(at(0), MSS, Bytes::new(65_536), Bytes::new(16 << 20));
        let mut read = Offset::FIRST;
        flight(&mut tuning, 0, &mut read, 10);
        assert_eq!((tuning.space, tuning.buffer()), (Bytes::new(14_480), Bytes::new(65_536)));
        // The round trip ends with the first segment of the next flight: eleven were read. That
        // asks for 2 · 15928 + 2 · 2 · 15928 · 1448 / 14480 = 38226, less than there is.
        flight(&mut tuning, 500, &mut read, 20);
        assert_eq!((tuning.space, tuning.buffer()), (Bytes::new(15_928), Bytes::new(65_536)));
        // 2 · 28960 + 2 · 2 · 28960 · 13032 / 15928 = 57920 + 2 · 47389.
        flight(&mut tuning, 1000, &mut read, 1);
        assert_eq!((tuning.space, tuning.buffer()), (Bytes::new(28_960), Bytes::new(152_698)));
        flight(&mut tuning, 1000, &mut read, 39);
        flight(&mut tuning, 1500, &mut read, 80);
        // 2 · 57920 + 2 · 2 · 57920 · 1.
        assert_eq!((tuning.space, tuning.buffer()), (Bytes::new(57_920), Bytes::new(347_520)));
        flight(&mut tuning, 2000, &mut read, 1);
        assert_eq!((tuning.space, tuning.buffer()), (Bytes::new(115_840), Bytes::new(695_040)));
        for (rcvbuf, window) in kernel.into_iter().zip([152_698, 347_520, 695_040]) {
            assert!((rcvbuf * 160 / 256).abs_diff(window) <= 1, "{rcvbuf}: {window}");
        }
    }

    #[test]
    fn a_steady_rate_needs_twice_what_a_round_trip_brings() {
        let mut tuning = AutoTuning::new(at(0), MSS, 30 * MSS, 1000 * MSS);
        let mut read = Offset::FIRST;
        for round in 0..20 {
            flight(&mut tuning, 500 * round, &mut read, 10);
        }
        // The first round was of eleven, the others of ten.
        assert_eq!((tuning.space, tuning.buffer()), (11 * MSS, 30 * MSS));
        // Twenty: 2 · 20 + 2 · 2 · 20 · 9 / 11 segments. Then no more.
        for round in 20..30 {
            flight(&mut tuning, 500 * round, &mut read, 20);
            let grown = if round > 20 { 40 * MSS + 2 * (40 * MSS * 9 / 11) } else { 30 * MSS };
            assert_eq!(tuning.buffer(), grown);
        }
        // It does not shrink, and stops at the maximum.
        flight(&mut tuning, 15_000, &mut read, 1);
        flight(&mut tuning, 15_500, &mut read, 900);
        assert_eq!(tuning.buffer(), 40 * MSS + 2 * (40 * MSS * 9 / 11));
        flight(&mut tuning, 16_000, &mut read, 1);
        assert_eq!(tuning.buffer(), 1000 * MSS);
    }

    #[test]
    fn the_window_opens_by_two_bytes_for_each_that_arrives() {
        let mut tuning = AutoTuning::new(at(0), MSS, 10 * MSS, 100 * MSS);
        tuning.buffer = 20 * MSS;
        let mut end = Offset::FIRST;
        let mut window = |tuning: &mut AutoTuning, len, opening| {
            end += len;
            tuning.on_data(&Observed { len, opening, ..full(0, end.max(Offset::SYN + MSS), None) });
            tuning.limit(end, end) - end
        };
        assert_eq!(window(&mut tuning, MSS, MSS), 12 * MSS);
        // Two segments at least, unless it is small or a duplicate, and no further than the buffer.
        assert_eq!(window(&mut tuning, Bytes::new(200), Bytes::new(200)), 14 * MSS);
        assert_eq!(window(&mut tuning, Bytes::new(127), Bytes::new(127)), 14 * MSS);
        assert_eq!(window(&mut tuning, MSS, Bytes::ZERO), 14 * MSS);
        assert_eq!(window(&mut tuning, 2 * MSS, 2 * MSS), 18 * MSS);
        assert_eq!(window(&mut tuning, 2 * MSS, 2 * MSS), 20 * MSS);
        // What is not read stays in the buffer.
        assert_eq!(tuning.limit(end, end - 3 * MSS), end + 17 * MSS);
    }

    #[test]
    fn what_is_not_read_does_not_count() {
        let mut tuning = AutoTuning::new(at(0), MSS, Bytes::new(65_536), Bytes::new(1 << 20));
        tuning.on_data(&full(100, Offset::FIRST + MSS, Some((1, ms(100)))));
        // Forty segments have come, thirty are read: of these ten are outweighed by the ten that
        // wait.
        tuning.on_data(&full(200, Offset::FIRST + 40 * MSS, Some((2, ms(100)))));
        tuning.on_read(Offset::FIRST + 30 * MSS);
        assert_eq!((tuning.space, tuning.round.1), (20 * MSS, Offset::FIRST + 30 * MSS));
    }

    #[test]
    fn a_shorter_round_trip_counts_at_once_and_a_longer_one_by_an_eighth() {
        let mut tuning = AutoTuning::new(at(0), MSS, Bytes::new(65_536), Bytes::new(1 << 20));
        let mut sample = |echo, age, observed: Observed| {
            tuning.on_data(&Observed { echoed: Some((echo, ms(age))), ..observed });
            tuning.rtt().map_or(0, |rtt| rtt.as_millis())
        };
        let segment = |n: u64| full(n, Offset::FIRST + n * MSS, None);
        assert_eq!(sample(1, 400, segment(1)), 400);
        assert_eq!(sample(2, 240, segment(2)), 240);
        assert_eq!(sample(3, 400, segment(3)), 260);
        // Not by an echo that came before, nor by what is shorter than a segment, by what takes
        // less than a tick, or while something waits to be read.
        assert_eq!(sample(3, 600, segment(4)), 260);
        assert_eq!(sample(4, 600, Observed { len: Bytes::new(100), ..segment(5) }), 260);
        assert_eq!(sample(5, 0, segment(6)), 260);
        assert_eq!(sample(6, 600, Observed { read: Offset::FIRST, ..segment(7) }), 260);
        assert_eq!(sample(7, 100, Observed { read: Offset::FIRST, ..segment(8) }), 100);
    }

    #[test]
    fn without_timestamps_the_fastest_window_is_the_round_trip() {
        let mut tuning = AutoTuning::new(at(0), MSS, Bytes::new(65_536), Bytes::new(1 << 20));
        let mut came = |millis, end, rcv_adv| {
            tuning.on_data(&Observed { rcv_adv, ..full(millis, end, None) });
            tuning.rtt().map(|rtt| rtt.as_millis())
        };
        assert_eq!(came(50, Offset::new(2001), Offset::new(10_001)), None);
        assert_eq!(came(100, Offset::new(10_000), Offset::new(20_001)), None);
        // What was advertised at 50 ms has come; then what was advertised at 150 ms, later and
        // earlier.
        assert_eq!(came(150, Offset::new(10_001), Offset::new(20_001)), Some(100));
        assert_eq!(came(350, Offset::new(20_001), Offset::new(30_001)), Some(100));
        assert_eq!(came(430, Offset::new(30_001), Offset::new(40_001)), Some(80));
    }
}
