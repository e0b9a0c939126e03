//! What the papers compute. Each function computes it anew from what it is made of; the tolerances
//! have what the papers print.

use super::Function;
use crate::run::{Number, Ran};

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("B-8-F1", buffer_study_path),
    ("B-F-1", satellite_beside_oceans),
    ("B-F-2", packets_of_slow_start),
    ("B-EM-8", releases),
    ("B-4PKT-4", three_packets),
    ("B-ACK-F1", oc3_path),
    ("B-N-1", max_time_to_live),
    ("B-N-2", datagrams),
    ("B-N-3", sequence_space),
    ("B-N-4", clocks),
    ("B-N-7", quarter_seconds),
    ("B-N-9", gigabit_rounds),
    ("B-T1", table_1),
    ("B-T1-a", table_1_paws),
    ("B-T1-b", table_1_windows),
    ("B-T1-d", table_1_efficiency),
    ("B-T2", table_2),
    ("B-T2-b", table_2_errors),
    ("S-F-1", min_delay),
];

type Numbers = Result<Vec<Number>, String>;

fn numbers<const N: usize>(of: [(&str, f64); N]) -> Numbers {
    Ok(of.map(|(name, value)| Number::new(name, value)).to_vec())
}

/// The round trip over a geostationary satellite, in seconds (bbn).
const GEO_RTT: f64 = 0.5;

/// How long a datagram lives, in seconds (bbn, article: maximum segment lifetime).
const LIFETIME: f64 = 120.0;

/// How much a window grows in a round trip of slow start, with delayed acknowledgments.
const DELAYED_GROWTH: f64 = 1.5;

/// Segments of 1024 bytes, and megabits of 2^20 bits: what the printed cells of Table 1 fit.
const SEGMENT: f64 = 1024.0;
const BINARY_MEGABIT: f64 = 1_048_576.0;

/// 1.5 Mbit/s and half a second, in packets of 1024 bytes.
fn buffer_study_path(_: &Ran) -> Numbers {
    numbers([("packets", 1.5e6 * GEO_RTT / (8.0 * 1024.0))])
}

/// Round trips between continents take 0.1 to 0.4 s.
fn satellite_beside_oceans(_: &Ran) -> Numbers {
    numbers([("times-least", GEO_RTT / 0.4), ("times-most", GEO_RTT / 0.1)])
}

fn packets_of_slow_start(_: &Ran) -> Numbers {
    let sent = |window: u32, rounds: u32| (0..rounds).map(|round| f64::from(window << round)).sum();
    numbers([
        ("one-packet-start-in-two-round-trips", sent(1, 2)),
        ("four-packet-start-in-one", sent(4, 1)),
    ])
}

/// 600 Mbit/s of packets of 1500 bytes, five at a time.
fn releases(_: &Ran) -> Numbers {
    let packets = 600e6 / 8.0 / 1500.0;
    numbers([("packets-per-s", packets), ("timer-us", 1e6 / (packets / 5.0))])
}

/// Three packets at the modem's 9600 bit/s.
fn three_packets(_: &Ran) -> Numbers {
    let seconds = |bytes: f64| 3.0 * 8.0 * bytes / 9600.0;
    numbers([
        ("of-1000-bytes-s", seconds(1000.0)),
        ("of-1024-bytes-s", seconds(1024.0)),
        ("of-1064-bytes-s", seconds(1064.0)),
    ])
}

fn oc3_path(_: &Ran) -> Numbers {
    numbers([("megabytes", 155e6 * GEO_RTT / 8.0 / 1e6)])
}

/// A time to live of 255, a second a hop.
fn max_time_to_live(_: &Ran) -> Numbers {
    numbers([("minutes", 255.0 / 60.0)])
}

/// 2^16 identifications in a datagram's life, of datagrams as long as can be.
fn datagrams(_: &Ran) -> Numbers {
    let rate = 65_536.0 / LIFETIME;
    numbers([("datagrams-per-s", rate), ("megabit-s", rate * 65_536.0 * 8.0 / 1e6)])
}

fn sequence_space(_: &Ran) -> Numbers {
    numbers([("megabit-s", 2f64.powi(32) * 8.0 / LIFETIME / 1e6)])
}

/// Timestamps of a second and of a millisecond: a window, or the whole sequence space, in a tick.
fn clocks(_: &Ran) -> Numbers {
    let rate = |bytes: f64, tick: f64| bytes * 8.0 / tick;
    let (window, space) = (2f64.powi(30), 2f64.powi(32));
    numbers([
        ("ratio", rate(window, 1e-3) / rate(window, 1.0)),
        ("least-gigabit-s", rate(window, 1.0) / 1e9),
        ("most-gigabit-s", rate(space, 1.0) / 1e9),
    ])
}

/// What a quarter of a second holds, of a modem's line and of OC-48.
fn quarter_seconds(_: &Ran) -> Numbers {
    numbers([("modem-bytes", 0.25 * 56e3 / 8.0), ("oc48-bytes", 0.25 * 2.4e9 / 8.0)])
}

/// Slow start until a path of 62.5 MB is full (1 Gbit/s): the formula with its "1 +".
fn gigabit_rounds(_: &Ran) -> Numbers {
    let rounds = (1.0 + rounds_to(62.5e6 / SEGMENT)).ceil();
    numbers([("rounds", rounds), ("seconds", rounds * GEO_RTT)])
}

/// Round trips of slow start until the window is so many segments, with delayed acknowledgments.
pub(super) fn rounds_to(segments: f64) -> f64 {
    segments.ln() / DELAYED_GROWTH.ln()
}

/// A column of the article's Table 1.
struct Path {
    name: &'static str,
    megabit_s: f64,
    rtt: f64,
    /// What the table says: PAWS is needed, large windows are.
    needs: (bool, bool),
}

const fn path(name: &'static str, megabit_s: f64, rtt: f64, needs: (bool, bool)) -> Path {
    Path { name, megabit_s, rtt, needs }
}

/// The table's nine paths. One cell was computed with a round trip of 100 ms instead of 10.
const TABLE_1: [Path; 9] = [
    path("lan-1_5", 1.5, 0.01, (false, false)),
    path("leo-1_5", 1.5, 0.2, (false, false)),
    path("geo-1_5", 1.5, 0.5, (false, true)),
    path("lan-45", 45.0, 0.01, (false, false)),
    path("leo-45", 45.0, 0.2, (false, true)),
    path("geo-45", 45.0, 0.5, (false, true)),
    path("lan-155", 155.0, 0.01, (true, true)),
    path("leo-155", 155.0, 0.2, (true, true)),
    path("geo-155", 155.0, 0.5, (true, true)),
];

impl Path {
    /// Segments that it holds.
    fn segments(&self) -> f64 {
        self.megabit_s * BINARY_MEGABIT * self.rtt / 8.0 / SEGMENT
    }

    /// How long slow start takes, in seconds, and how many bytes it sends meanwhile; the last round
    /// in part.
    fn slow_start(&self) -> (f64, f64) {
        let rounds = rounds_to(self.segments());
        let whole = rounds.floor();
        let window = DELAYED_GROWTH.powf(whole);
        let segments = 2.0 * (window - 1.0) + (rounds - whole) * window;
        (self.rtt * rounds, SEGMENT * segments)
    }
}

fn table_1(_: &Ran) -> Numbers {
    let cells = TABLE_1.iter().flat_map(|column| {
        let (name, rtt) = match column.name {
            "lan-155" => ("lan-155-at-100-ms", 0.1),
            name => (name, column.rtt),
        };
        let (seconds, bytes) = Path { rtt, ..*column }.slow_start();
        [Number::new(format!("{name}-s"), seconds), Number::new(format!("{name}-bytes"), bytes)]
    });
    Ok(cells.collect())
}

/// Half the sequence space in a datagram's life: 143 Mbit/s.
fn table_1_paws(_: &Ran) -> Numbers {
    let most = 2f64.powi(31) * 8.0 / LIFETIME / 1e6;
    let agree = TABLE_1.iter().filter(|column| (column.megabit_s > most) == column.needs.0).count();
    numbers([("cells", agree as f64)])
}

/// More than 65,535 bytes.
fn table_1_windows(_: &Ran) -> Numbers {
    let large = |column: &Path| column.megabit_s * 1e6 * column.rtt / 8.0 > 65_535.0;
    let agree = TABLE_1.iter().filter(|column| large(column) == column.needs.1).count();
    numbers([("cells", agree as f64)])
}

/// What a transfer makes of OC-3 by satellite if slow start is all that it loses.
fn table_1_efficiency(_: &Ran) -> Numbers {
    let column = &TABLE_1[8];
    let (seconds, sent) = column.slow_start();
    let lost = column.megabit_s * 1e6 * seconds / 8.0 - sent;
    let efficiency = |bytes: f64| bytes / (bytes + lost);
    numbers([("ten-megabytes", efficiency(1e7)), ("one-gigabyte", efficiency(1e9))])
}

/// The article's Table 2: buffers in segments, and rates in Mbit/s.
const BUFFERS: [u32; 3] = [10, 100, 1000];
const RATES: [(&str, f64); 3] = [("1_5", 1.5), ("45", 45.0), ("155", 155.0)];

/// Bits that congestion avoidance sends until the buffer is full: the window grows by a segment in
/// each round trip, and what is above the path waits.
fn table_2(_: &Ran) -> Numbers {
    let cells = BUFFERS.iter().flat_map(|&buffer| {
        RATES.iter().map(move |(name, rate)| {
            Number::new(format!("buffer-{buffer}-at-{name}"), phase_bits(buffer, *rate))
        })
    });
    Ok(cells.collect())
}

fn phase_bits(buffer: u32, megabit_s: f64) -> f64 {
    f64::from(rounds_until_full(buffer)) * GEO_RTT * megabit_s * 1e6
}

/// The most p for which p (p + 1) / 2 segments fit.
pub(super) fn rounds_until_full(buffer: u32) -> u32 {
    (1..).take_while(|p| p * (p + 1) / 2 <= buffer).last().unwrap_or(0)
}

/// Bit-error rates at which one such phase in a hundred meets an error.
fn table_2_errors(_: &Ran) -> Numbers {
    let bits = BUFFERS.iter().flat_map(|&buffer| RATES.map(|(_, rate)| phase_bits(buffer, rate)));
    let rates: Vec<f64> = bits.map(|bits| 0.01 / bits).collect();
    numbers([
        ("least-bit-error-rate", rates.iter().copied().fold(f64::INFINITY, f64::min)),
        ("most-bit-error-rate", rates.iter().copied().fold(0.0, f64::max)),
    ])
}

/// Up 35,800 km and down again at the speed of light, beside the 280 ms of the paper's link.
fn min_delay(_: &Ran) -> Numbers {
    let least = 2.0 * 35_800.0 / 299_792.458 * 1e3;
    numbers([("least-one-way-ms", least), ("preset-less-least-ms", 280.0 - least)])
}
