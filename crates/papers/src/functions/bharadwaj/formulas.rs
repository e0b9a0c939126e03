//! What both papers compute: windows, round trips, bandwidth-delay products. Each function computes
//! it anew from what it is made of.

use super::{
    END_TO_END, Function, IW_1, IW_4, IW_16, Number, Numbers, RATES, RTT, Ran, VARIANT, one,
};

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("G99-F-1", window_of_8_kb),
    ("G01-F-2", small_page),
    ("G01-F-4", product),
    ("G01-F-5", shares_of_the_product),
    ("G01-F-6", rounds_of_100_kb),
    ("G01-F-7", twenty_windows),
    ("G01-F-9", product_of_e1),
    ("G01-F-11", forty_transfers),
    ("G01-4.2.1-a", chances_of_an_error),
];

/// The fastest link, in bit/s.
const FASTEST: f64 = 8e6;
/// A segment's data, in bytes.
const SEGMENT: f64 = 1460.0;

fn numbers<const N: usize>(of: [(&str, f64); N]) -> Numbers {
    Ok(of.map(|(name, value)| Number::new(name, value)).to_vec())
}

fn bytes_of_product(rate: f64) -> f64 {
    rate * RTT / 8.0
}

fn window_of_8_kb(ran: &Ran) -> Numbers {
    let part = ran.part("rates")?;
    let mut found = vec![Number::new("formula-bps", 8192.0 * 8.0 / RTT)];
    let names = ["simulated-384k-bps", "simulated-1536k-bps", "simulated-8M-bps"];
    for (name, rate) in names.into_iter().zip(RATES) {
        let at = [("link.sat.rate", rate), (VARIANT, END_TO_END)];
        found.push(Number::new(name, one(part, &at, "goodput_bps")?));
    }
    Ok(found)
}

/// Round trips in which slow start has sent so many segments, the first window doubled in each.
fn rounds(segments: u32, first: u32) -> u32 {
    let (mut rounds, mut sent, mut window) = (0, 0, first);
    while sent < segments {
        (rounds, sent, window) = (rounds + 1, sent + window, 2 * window);
    }
    rounds
}

/// Four or five packets.
fn small_page(_: &Ran) -> Numbers {
    let rounds = f64::from(rounds(5, 1));
    numbers([("rounds", rounds), ("seconds", rounds * RTT)])
}

fn product(_: &Ran) -> Numbers {
    let bytes = bytes_of_product(FASTEST);
    numbers([("bytes", bytes), ("segments", (bytes / SEGMENT).ceil())])
}

fn shares_of_the_product(_: &Ran) -> Numbers {
    let share = |transfers: f64| bytes_of_product(FASTEST) / transfers;
    numbers([
        ("ten-bytes", share(10.0)),
        ("forty-bytes", share(40.0)),
        ("forty-segments", (share(40.0) / SEGMENT).round()),
    ])
}

/// 100 KB are 70 segments.
fn rounds_of_100_kb(ran: &Ran) -> Numbers {
    let part = ran.part("one")?;
    let time = |iw: &str| one(part, &[(VARIANT, iw)], "completion_mean_s");
    numbers([
        ("rounds-1", f64::from(rounds(70, 1))),
        ("rounds-4", f64::from(rounds(70, 4))),
        ("rounds-16", f64::from(rounds(70, 16))),
        ("simulated-1-to-4-s", time(IW_1)? - time(IW_4)?),
        ("simulated-4-to-16-s", time(IW_4)? - time(IW_16)?),
    ])
}

/// Twenty windows of 32 segments, beside twice what the path holds.
fn twenty_windows(_: &Ran) -> Numbers {
    let segments = 20.0 * 32.0;
    let path = (bytes_of_product(FASTEST) / SEGMENT).ceil();
    numbers([("segments", segments), ("two-products-less-segments", 2.0 * path - segments)])
}

fn product_of_e1(_: &Ran) -> Numbers {
    let bytes = bytes_of_product(2.048e6);
    numbers([("bytes", bytes), ("kibibytes", bytes / 1024.0)])
}

fn forty_transfers(_: &Ran) -> Numbers {
    let share = |bytes: f64| 40.0 * bytes / bytes_of_product(FASTEST);
    numbers([
        ("forty-of-10KB-to-product", share(10e3)),
        ("forty-of-100KB-to-product", share(100e3)),
    ])
}

/// That a transfer meets an error at all, at a bit-error rate of 1e-6.
fn chances_of_an_error(_: &Ran) -> Numbers {
    let chance = |bytes: f64| 1.0 - (1.0 - 1e-6_f64).powf(8.0 * bytes);
    numbers([("chance-100KB", chance(100e3)), ("chance-10KB", chance(10e3))])
}
