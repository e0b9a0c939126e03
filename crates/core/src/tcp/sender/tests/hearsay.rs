//! What congestion control hears of losses, timeouts and departures.

use super::*;
use crate::tcp::congestion::{
    AckEvent, Congestion, CongestionEvent, Departed, Lost, Response, SlowStart,
};
use crate::units::Bytes;
use std::sync::{Arc, Mutex};

#[derive(Debug, Clone, Copy)]
enum Heard {
    Ack(AckEvent),
    Departed(Departed),
    Lost(Lost),
    Timeout(CongestionEvent),
}

/// A policy that writes down what it hears, and limits itself if it is to.
#[derive(Debug, Serialize, Deserialize)]
struct Listener {
    slow_start: SlowStart,
    app_limited: bool,
    #[serde(skip)]
    heard: Arc<Mutex<Vec<Heard>>>,
}

impl Listener {
    fn note(&self, heard: Heard) {
        self.heard.lock().unwrap().push(heard);
    }
}

impl Congestion for Listener {
    fn slow_start(&self) -> &SlowStart {
        &self.slow_start
    }

    fn slow_start_mut(&mut self) -> &mut SlowStart {
        &mut self.slow_start
    }

    fn on_ack(&mut self, ack: &AckEvent) -> Response {
        self.note(Heard::Ack(*ack));
        Response { app_limited: self.app_limited, ..Response::default() }
    }

    fn on_sent(&mut self, departed: &Departed) {
        self.note(Heard::Departed(*departed));
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.note(Heard::Lost(*lost));
    }

    fn decrease(&mut self, _event: &CongestionEvent, _timeout: bool) -> Bytes {
        self.window()
    }

    fn on_timeout(&mut self, event: &CongestionEvent, _again: bool) {
        self.note(Heard::Timeout(*event));
    }
}

/// A sender that has sent all of `segments`, and what its policy hears from now on.
fn listening(segments: u64, app_limited: bool) -> (Sender, Arc<Mutex<Vec<Heard>>>) {
    let mut sender = sender(config(RecoveryAlgorithm::Sack, 100), segments);
    let slow_start = SlowStart::new(
        crate::tcp::congestion::SlowStartConfig {
            initial_window: Bytes::new((100 * SMSS).count()),
            initial_window_use: crate::tcp::congestion::InitialWindowUse::default(),
            initial_ssthresh: None,
            ssthresh_estimate: crate::tcp::congestion::ThresholdEstimate::Off,
            byte_limit: None,
            growth: crate::tcp::congestion::Growth::Doubling,
            probing: crate::tcp::congestion::Probing::default(),
        },
        SMSS,
    );
    let heard = Arc::<Mutex<Vec<Heard>>>::default();
    sender.cwnd.replace(Box::new(Listener { slow_start, app_limited, heard: heard.clone() }));
    drain(&mut sender, at(100));
    (sender, heard)
}

fn take(heard: &Mutex<Vec<Heard>>) -> Vec<Heard> {
    std::mem::take(&mut heard.lock().unwrap())
}

#[test]
fn each_lost_segment_with_what_was_in_flight_when_it_left() {
    let (mut sender, heard) = listening(10, false);
    take(&heard);
    acknowledge(&mut sender, at(200), 0, &[2..6]);
    let heard = take(&heard);
    let lost: Vec<&Lost> = heard
        .iter()
        .filter_map(|heard| if let Heard::Lost(lost) = heard { Some(lost) } else { None })
        .collect();
    assert_eq!(lost.len(), 2);
    for (number, lost) in (1..).zip(lost) {
        assert_eq!((lost.now, lost.delivered), (at(200), Bytes::new((4 * SMSS).count())));
        let sample = lost.sample;
        assert_eq!(
            (sample.bytes, sample.in_flight, sample.lost),
            (SMSS, Bytes::new((number * SMSS).count()), Bytes::new((number * SMSS).count()))
        );
    }
    let Some(Heard::Ack(ack)) = heard.last() else { panic!("{heard:?}") };
    assert_eq!(
        (ack.newly, ack.lost),
        (Bytes::new((4 * SMSS).count()), Bytes::new((2 * SMSS).count()))
    );
    assert_eq!(
        (ack.in_flight_before, ack.in_flight),
        (Bytes::new((10 * SMSS).count()), Bytes::new((4 * SMSS).count()))
    );
    assert!(ack.in_recovery() && !ack.after_timeout);
}

#[test]
fn a_timeout_and_until_when_it_lasts() {
    let (mut sender, heard) = listening(4, false);
    take(&heard);
    let timer = sender.poll_timer().expect("segments are outstanding");
    sender.on_timer(timer);
    let told = take(&heard);
    assert!(matches!(told[..4], [Heard::Lost(_), Heard::Lost(_), Heard::Lost(_), Heard::Lost(_)]));
    let Heard::Timeout(event) = told[4] else { panic!("{told:?}") };
    assert_eq!((event.flight_size, event.in_flight), (Bytes::new((4 * SMSS).count()), Bytes::ZERO));
    drain(&mut sender, timer);
    take(&heard);
    for (ack, after_timeout) in [(2, true), (4, false)] {
        acknowledge(&mut sender, timer + Duration::from_millis(ack), ack, &[]);
        let told = take(&heard);
        let Some(Heard::Ack(ack)) = told.last() else { panic!("{told:?}") };
        assert_eq!(ack.after_timeout, after_timeout);
    }
}

#[test]
fn whether_the_application_held_the_sender_back() {
    // The first poll behind the last segment finds nothing to send, with room in the window.
    let (mut sender, heard) = listening(4, false);
    let limited = |heard: &Heard| match heard {
        Heard::Departed(departed) => departed.app_limited,
        other => panic!("{other:?}"),
    };
    assert!(take(&heard).iter().all(|heard| !limited(heard)));
    sender.extend(Offset::FIRST + 6 * SMSS);
    drain(&mut sender, at(110));
    assert!(take(&heard).iter().all(limited));
    acknowledge(&mut sender, at(200), 6, &[]);
    sender.extend(Offset::FIRST + 8 * SMSS);
    take(&heard);
    drain(&mut sender, at(210));
    let Heard::Departed(first) = take(&heard)[0] else { panic!("a departure") };
    assert_eq!((first.in_flight, first.bytes), (Bytes::ZERO, SMSS));
}

#[test]
fn a_policy_that_limits_itself_does_not_measure_the_path() {
    for app_limited in [false, true] {
        let (mut sender, heard) = listening(100, app_limited);
        acknowledge(&mut sender, at(200), 2, &[]);
        sender.extend(Offset::FIRST + 102 * SMSS);
        take(&heard);
        drain(&mut sender, at(201));
        let Heard::Departed(first) = take(&heard)[0] else { panic!("a departure") };
        assert_eq!(first.app_limited, app_limited);
    }
}

#[test]
fn a_policy_that_needs_pacing_paces_though_the_sender_is_not_told_to() {
    for (control, gain) in [("bbr", 2.77), ("bbr1", 2.885 * 0.99)] {
        let config = SenderConfig {
            congestion: control.parse().expect("in the registry"),
            pacing: Pacing::Off,
            ..config(RecoveryAlgorithm::Rack, 100)
        };
        let mut sender = sender(config, 200);
        let mut now = at(1000);
        let mut sent = drain(&mut sender, now).len();
        assert!(sent < 100, "not the whole window at once: {sent}");
        // The window, times the gain, in the handshake's round trip of 100 ms.
        while sent < 100 {
            now = sender.poll_timer().expect("the pacer's");
            sender.on_timer(now);
            sent += drain(&mut sender, now).len();
        }
        let took = now.saturating_since(at(1000)).as_secs_f64();
        let headers = 1.0 + 40.0 / SMSS.as_f64();
        assert!((took * gain / 0.1 / headers - 1.0).abs() < 0.3, "{control}: {took}");
    }
}
