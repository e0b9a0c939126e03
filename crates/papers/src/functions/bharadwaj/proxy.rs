//! bharadwaj-2001, section 4.1: one connection, and two.

use super::{
    BYTES, END_TO_END, Function, GATEWAYS, IW_1, IW_16, Number, Numbers, RATE, RATES, Ran, SIZES,
    VARIANT, flow, jackknife, kept, less, max, mean, min, one, per_run, samples,
};
use bentpipe_lab::tables::Table;

/// By claim.
pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("G01-4-c", errors),
    ("G01-5-a", end_to_end_and_gains),
    ("G01-5-b", products),
    ("G01-5-c", curves_by_products),
    ("G01-6-a", larger_windows),
    ("G01-7-a", fack_at_errors),
    ("G01-7-b", errors_by_rate),
    ("G01-7-c", errors_per_round_trip),
    ("G01-8-a", pages),
    ("G01-9-a", pages_by_window),
    ("G01-10-b", ku_band),
    ("G01-10-c", ku_band_windows),
    ("G01-10-d", two_sessions),
];

const TIME: &str = "completion_mean_s";
const ERRORS: &str = "numbers.errors";
const PRODUCTS: &str = "numbers.products";

/// Conditions of figure 4: 0 is no delay, 1 250 ms, 2 with bit errors, 3 bit errors alone.
fn errors(ran: &Ran) -> Numbers {
    let part = ran.part("rates")?;
    let left = |rate: &str, variant: &str, [clean, errors]: [&str; 2]| {
        let times = |condition: &str| {
            let at = [(RATE, rate), (VARIANT, variant), ("numbers.condition", condition)];
            flow(part, &at, TIME)
        };
        Ok::<_, String>(kept(&times(clean)?, &times(errors)?))
    };
    let [slow, middle, fast] = RATES.map(|rate| left(rate, GATEWAYS, ["1", "2"]));
    let (slow, middle, fast) = (slow?, middle?, fast?);
    Ok(vec![
        samples("kept-1536k", middle.clone()),
        samples("kept-8M", fast.clone()),
        samples("kept-384k-less-8M", less(&slow, &fast)),
        samples("kept-1536k-less-8M", less(&middle, &fast)),
        samples("end-to-end-kept-8M-no-delay", left(RATES[2], END_TO_END, ["0", "3"])?),
    ])
}

fn end_to_end_and_gains(ran: &Ran) -> Numbers {
    let part = ran.part("sizes")?;
    let rate = |bytes: &str, rate: &str, variant: &str| {
        one(part, &[(BYTES, bytes), (RATE, rate), (VARIANT, variant)], "goodput_bps")
    };
    let (mut spread, mut gains) = (Vec::new(), Vec::new());
    for bytes in &SIZES[1..] {
        let mut plain = Vec::new();
        for link in RATES {
            plain.push(rate(bytes, link, END_TO_END)?);
            if *bytes != "100KB" {
                gains.push(rate(bytes, link, GATEWAYS)? / rate(bytes, link, END_TO_END)?);
            }
        }
        spread.push(max(plain.clone()) / min(plain));
    }
    Ok(vec![
        Number::new("largest-end-to-end-over-rates", max(spread)),
        Number::new("least-gain", min(gains)),
    ])
}

/// The efficiencies at so many bandwidth-delay products, at each rate.
fn at_products(ran: &Ran, products: &str) -> Result<Vec<f64>, String> {
    let part = ran.part("products")?;
    let of = |rate: &str| one(part, &[(RATE, rate), (PRODUCTS, products)], "efficiency");
    RATES.into_iter().map(of).collect()
}

fn products(ran: &Ran) -> Numbers {
    Ok(vec![
        Number::new("largest-at-1-product", max(at_products(ran, "1")?)),
        Number::new("least-at-10-products", min(at_products(ran, "10")?)),
        Number::new("least-at-100-products", min(at_products(ran, "100")?)),
    ])
}

fn curves_by_products(ran: &Ran) -> Numbers {
    let part = ran.part("sizes")?;
    let mut steps = Vec::new();
    for rate in RATES {
        let of = |bytes: &str| {
            one(part, &[(RATE, rate), (BYTES, bytes), (VARIANT, GATEWAYS)], "efficiency")
        };
        let curve = SIZES.into_iter().map(of).collect::<Result<Vec<_>, _>>()?;
        steps.extend(curve.windows(2).map(|pair| pair[1] - pair[0]));
    }
    let mut differences = Vec::new();
    for products in ["1", "3", "10", "30", "100"] {
        let curves = at_products(ran, products)?;
        differences.push(max(curves.clone()) - min(curves));
    }
    Ok(vec![
        Number::new("smallest-step", min(steps)),
        Number::new("largest-difference-of-rates", max(differences)),
    ])
}

/// The size of which a larger initial window makes most, and how much.
fn best(sizes: &[(f64, f64)]) -> (f64, f64) {
    let first = (0.0, f64::NEG_INFINITY);
    sizes.iter().fold(first, |best, found| if found.1 > best.1 { *found } else { best })
}

const SIZES_IN_BYTES: [f64; 5] = [1e4, 1e5, 1e6, 1e7, 1e8];

fn larger_windows(ran: &Ran) -> Numbers {
    let part = ran.part("starts")?;
    let gain = |rate: &str, bytes: &str| {
        let of =
            |iw: &str| one(part, &[(RATE, rate), (BYTES, bytes), (VARIANT, iw)], "goodput_bps");
        Ok::<f64, String>(of(IW_16)? / of(IW_1)?)
    };
    let (mut all, mut longest, mut fast) = (Vec::new(), Vec::new(), Vec::new());
    for rate in RATES {
        for (bytes, size) in SIZES.into_iter().zip(SIZES_IN_BYTES) {
            let gain = gain(rate, bytes)?;
            all.push(gain);
            if bytes == "100MB" {
                longest.push(gain);
            }
            if rate == RATES[2] {
                fast.push((size / 500e3, gain));
            }
        }
    }
    let (size, gain) = best(&fast);
    Ok(vec![
        Number::new("least-gain", min(all)),
        Number::new("best-size-in-products", size),
        Number::new("gain-there", gain),
        Number::new("largest-gain-100MB", max(longest)),
    ])
}

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

/// How long a page takes.
fn load(ran: &Ran, page: u8, rate: &str, delay: &str, variant: &str) -> Result<f64, String> {
    let page = format!("bharadwaj-2001-{page}");
    let at = [
        ("flow.main.page", page.as_str()),
        (RATE, rate),
        ("link.sat.delay", delay),
        (VARIANT, variant),
    ];
    one(ran.part("pages")?, &at, TIME)
}

fn pages(ran: &Ran) -> Numbers {
    let ftp = ran.part("ftp")?;
    let (mut slowdowns, mut differences) = (Vec::new(), Vec::new());
    for page in [2, 3] {
        for rate in RATES {
            let time = |variant: &str| load(ran, page, rate, "250ms", variant);
            let file = |variant: &str| one(ftp, &[(RATE, rate), (VARIANT, variant)], TIME);
            differences.push(file(END_TO_END)? / file(IW_1)? - time(END_TO_END)? / time(IW_1)?);
            if rate != RATES[0] {
                for variant in [END_TO_END, IW_1] {
                    slowdowns.push(time(variant)? / load(ran, page, rate, "0ms", variant)?);
                }
            }
        }
    }
    Ok(vec![
        Number::new("least-slowdown", min(slowdowns)),
        Number::new("least-ftp-gain-less-page-gain", min(differences)),
    ])
}

fn pages_by_window(ran: &Ran) -> Numbers {
    let mut ratios = Vec::new();
    for page in [2, 3] {
        for rate in RATES {
            let time = |variant: &str| load(ran, page, rate, "250ms", variant);
            ratios.push(time(IW_16)? / time(IW_1)?);
        }
    }
    Ok(vec![Number::new("least-iw-16-to-1", min(ratios))])
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
