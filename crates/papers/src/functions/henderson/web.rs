//! Table 4.2: what Web replies wait for, by the paper's model and simulated.

use super::{Function, Numbers, Samples, at, flow, number};
use crate::run::{Number, PointRuns, Ran};
use bentpipe_scenario::Workload;

pub(super) const FUNCTIONS: &[(&str, Function)] =
    &[("H-T4.2-E", cells), ("H-F-10", three_segments), ("H-F-11", minimum)];

/// Orbits: name, round trip in seconds, the swept delay.
const ORBITS: [(&str, f64, &str); 2] = [("geo", 0.6, "300ms"), ("leo", 0.08, "40ms")];
/// Segments as the paper names them, and the data in them.
const SEGMENTS: [(u32, u32); 2] = [(1500, 1460), (500, 500)];
/// T/TCP, and a larger initial window.
const OPTIONS: [(&str, bool, bool); 4] = [
    ("standard", false, false),
    ("ttcp", true, false),
    ("4kss", false, true),
    ("both", true, true),
];
/// What a delayed acknowledgment of a single segment costs on the mean, in seconds.
const DELAYED: f64 = 0.1;

fn text(mss: u32, transactions: bool, larger: bool) -> String {
    let transactions = if transactions { ",transactions=on" } else { "" };
    let window = if larger { "rfc3390" } else { "1" };
    format!("mss={mss}{transactions},iw={window}")
}

fn point<'a>(
    ran: &'a Ran,
    orbit: &str,
    mss: u32,
    (transactions, larger): (bool, bool),
) -> Result<&'a PointRuns, String> {
    let tcp = text(mss, transactions, larger);
    at(ran.part("replies")?, &[("link.sat.delay", orbit), ("flow.web.tcp", &tcp)])
}

fn simulated(ran: &Ran, orbit: &str, mss: u32, options: (bool, bool)) -> Result<Samples, String> {
    flow(point(ran, orbit, mss, options)?, "web", "completion_mean_s")
}

/// The paper's model: the handshake's round trip unless T/TCP saves it, one for each flight of slow
/// start, and a delayed acknowledgment where a single segment waits for it. With T/TCP the table
/// leaves that out.
fn model(segments: u64, round_trip: f64, window: u64, transactions: bool) -> f64 {
    let waits = window == 1 && segments > 1 && !transactions;
    let (mut flights, mut window, mut sent) = (1, window, window);
    while sent < segments {
        // An acknowledgment for every second segment adds one.
        window += window.div_ceil(2);
        sent += window;
        flights += 1;
    }
    let handshake = if transactions { 0.0 } else { round_trip };
    handshake + f64::from(flights) * round_trip + if waits { DELAYED } else { 0.0 }
}

/// The initial window in segments: RFC 2414's, or one.
fn initial(mss: u64, larger: bool) -> u64 {
    if larger { (4 * mss).min((2 * mss).max(4380)) / mss } else { 1 }
}

fn modelled(bytes: f64, mss: u32, round_trip: f64, (transactions, larger): (bool, bool)) -> f64 {
    let mss = u64::from(mss);
    let segments = (bytes.ceil() as u64).div_ceil(mss).max(1);
    model(segments, round_trip, initial(mss, larger), transactions)
}

fn cells(ran: &Ran) -> Numbers {
    let median = Workload::mah_reply().distribution.quantile(0.5);
    let mut numbers = Vec::new();
    for (orbit, round_trip, delay) in ORBITS {
        for (option, transactions, larger) in OPTIONS {
            let options = (transactions, larger);
            for (segment, mss) in SEGMENTS {
                let name = |what: &str| format!("{orbit}-{option}-{segment}-{what}-s");
                let model = |bytes| modelled(bytes, mss, round_trip, options);
                numbers.push(Number::new(name("min"), model(1.0)));
                numbers.push(Number::new(name("median"), model(median)));
                numbers.push(number(name("simulated"), simulated(ran, delay, mss, options)?));
            }
        }
    }
    Ok(numbers)
}

fn of_model(segments: u64) -> Vec<Number> {
    let mut numbers = Vec::new();
    for (orbit, round_trip, _) in ORBITS {
        for (option, transactions, larger) in OPTIONS {
            let seconds = model(segments, round_trip, initial(1460, larger), transactions);
            numbers.push(Number::new(format!("{orbit}-{option}-s"), seconds));
        }
    }
    numbers
}

fn three_segments(_: &Ran) -> Numbers {
    Ok(of_model(3))
}

fn minimum(_: &Ran) -> Numbers {
    Ok(of_model(1))
}
