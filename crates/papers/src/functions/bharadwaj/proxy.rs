//! bharadwaj-2001, section 4.1: one connection, and two.

use super::{
    BYTES, END_TO_END, Function, IW_1, IW_16, Number, Numbers, RATE, RATES, Ran, SIZES, VARIANT,
    flow, jackknife, kept, less, max, mean, min, one, per_run, samples,
};
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("G01-7-a", fack_at_errors),
    ("G01-7-b", errors_by_rate),
    ("G01-7-c", errors_per_round_trip),
    ("G01-10-b", ku_band),
    ("G01-10-c", ku_band_windows),
    ("G01-10-d", two_sessions),
];

const TIME: &str = "completion_mean_s";
const ERRORS: &str = "numbers.errors";

/// The size of which a larger initial window makes most, and how much.
fn best(sizes: &[(f64, f64)]) -> (f64, f64) {
    let first = (0.0, f64::NEG_INFINITY);
    sizes.iter().fold(first, |best, found| if found.1 > best.1 { *found } else { best })
}

const SIZES_IN_BYTES: [f64; 5] = [1e4, 1e5, 1e6, 1e7, 1e8];

/// What bit errors leave of 1 MB, of variant `variant` in scenario `scenario`.
fn left(ran: &Ran, scenario: &str, at: &[(&str, &str)], rate: &str) -> Result<Vec<f64>, String> {
    let clean = flow(ran.part("clean")?, &[(RATE, rate), (BYTES, "1MB")], TIME)?;
    let mut at = at.to_vec();
    at.push((RATE, rate));
    Ok(kept(&clean, &flow(ran.part(scenario)?, &at, TIME)?))
}

const BITS: &str = "link.sat.bit-errors";

fn fack_at_errors(ran: &Ran) -> Numbers {
    let mut at_1e_7 = Vec::new();
    let (mut fack, mut reno) = (Vec::new(), Vec::new());
    for rate in RATES {
        at_1e_7.push(left(ran, "errors", &[(BITS, "1e-7")], rate)?);
        fack.push(left(ran, "errors", &[(BITS, "1e-6")], rate)?);
        reno.push(left(ran, "reno", &[], rate)?);
    }
    let worst = at_1e_7.into_iter().min_by(|a, b| super::mean(a).total_cmp(&super::mean(b)));
    let (fack, reno) = (per_run(&fack, mean), per_run(&reno, mean));
    let ratio = fack.iter().zip(&reno).map(|(fack, _)| fack / super::mean(&reno));
    Ok(vec![
        samples("least-kept-at-1e-7", worst.unwrap_or_default()),
        samples("fack-to-reno-at-1e-6", ratio.collect()),
    ])
}

fn errors_by_rate(ran: &Ran) -> Numbers {
    let [slow, middle, fast] = RATES.map(|rate| left(ran, "errors", &[(BITS, "1e-6")], rate));
    let (slow, middle, fast) = (slow?, middle?, fast?);
    let mut curves = Vec::new();
    for errors in ["10", "30", "100", "300", "1000"] {
        for rate in RATES {
            curves.push(left(ran, "normalised", &[(ERRORS, errors)], rate)?);
        }
    }
    let apart = |heights: &[f64]| max(heights.iter().copied()) - min(heights.iter().copied());
    let largest = |means: &[f64]| max(means.chunks(RATES.len()).map(apart));
    Ok(vec![
        samples("kept-384k-less-1536k", less(&slow, &middle)),
        samples("kept-1536k-less-8M", less(&middle, &fast)),
        samples("largest-difference-of-rates", jackknife(&curves, largest)),
    ])
}

/// Of 1 MB at a tenth of an error in a round trip, and of 10 MB at two: the worst and the best of
/// the three rates.
fn errors_per_round_trip(ran: &Ran) -> Numbers {
    let (mut tenth, mut two) = (Vec::new(), Vec::new());
    for rate in RATES {
        tenth.push(left(ran, "normalised", &[(ERRORS, "100")], rate)?);
        let clean = flow(ran.part("clean")?, &[(RATE, rate), (BYTES, "10MB")], TIME)?;
        two.push(kept(&clean, &flow(ran.part("two")?, &[(RATE, rate)], TIME)?));
    }
    let by_mean = |a: &Vec<f64>, b: &Vec<f64>| super::mean(a).total_cmp(&super::mean(b));
    Ok(vec![
        samples("least-kept-at-a-tenth", tenth.into_iter().min_by(by_mean).unwrap_or_default()),
        samples("largest-kept-at-two", two.into_iter().max_by(by_mean).unwrap_or_default()),
    ])
}

fn ku_band(ran: &Ran) -> Numbers {
    let part = ran.part("single")?;
    let of = |bytes: &str, variant: &str, column: &str| {
        one(part, &[(BYTES, bytes), (VARIANT, variant)], column)
    };
    let mut gains = Vec::new();
    for bytes in ["1MB", "10MB", "100MB"] {
        gains.push(of(bytes, IW_1, "goodput_bps")? / of(bytes, END_TO_END, "goodput_bps")?);
    }
    Ok(vec![
        Number::new("least-gain", min(gains)),
        Number::new("at-10-products", of("1280KB", IW_1, "efficiency")?),
        Number::new("at-1-product", of("128KB", IW_1, "efficiency")?),
    ])
}

fn ku_band_windows(ran: &Ran) -> Numbers {
    let part = ran.part("single")?;
    let mut gains = Vec::new();
    for (bytes, size) in SIZES.into_iter().zip(SIZES_IN_BYTES) {
        let of = |iw: &str| one(part, &[(BYTES, bytes), (VARIANT, iw)], "goodput_bps");
        gains.push((size, of(IW_16)? / of(IW_1)?));
    }
    let (size, gain) = best(&gains);
    Ok(vec![
        Number::new("best-size-bytes", size),
        Number::new("gain-there", gain),
        Number::new("gain-100MB", gains[4].1),
    ])
}

/// Two files of 10 MB at once.
fn two_sessions(ran: &Ran) -> Numbers {
    let point = ran.part("shares")?.point(&[])?;
    let sat = [("link", "sat"), ("from", "g1")];
    let rate = |name: &str| point.column(Table::Results, &[("flow", name)], "goodput_bps");
    let (first, second) = (rate("main.1")?, rate("main.2")?);
    let ratio = first.iter().zip(&second).map(|(a, b)| a.max(*b) / a.min(*b));
    Ok(vec![
        samples("utilisation", point.column(Table::Links, &sat, "utilisation")?),
        samples("larger-to-smaller", ratio.collect()),
    ])
}
