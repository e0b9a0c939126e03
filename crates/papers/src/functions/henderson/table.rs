//! Table 4.1, and what is said beside it: two bolder transfers, all of them, both directions,
//! clocks.

use super::{
    DATA, Function, LONG, Numbers, PACKET, SHORT, Samples, at, flow, jain, less, mean, number,
};
use super::{max_by_mean, ratio, scaled, throughput, utilisation};
use crate::run::{Number, Part, PointRuns, Ran};
use bentpipe_lab::tables::Table;

pub(super) const FUNCTIONS: &[(&str, Function)] = &[
    ("H-T4.1-E", cells),
    ("H-T4.1-a", gains),
    ("H-T4.1-b", harm),
    ("H-T4.1-c", fairness),
    ("H-4.1.5-a", both),
    ("H-4.1.5-b", all),
    ("H-4.1.5-c", reverse),
    ("H-4.1.6-a", clocks),
    ("H-D-4", loads),
    ("H-D-5", rule),
];

/// The satellite of section 4.2, in bit/s.
const SATELLITE: f64 = 1.3e6;
const BOLD: &str = "increase-by-k:k=4";

/// A column of the table: which transfers are bold.
fn column<'a>(ran: &'a Ran, part: &str, bold: &[&str]) -> Result<&'a PointRuns, String> {
    let control = |name: &str| if bold.contains(&name) { BOLD } else { "standard" };
    let conditions = [
        ("flow.f300.tcp.congestion", control("f300")),
        ("flow.f600.tcp.congestion", control("f600")),
    ];
    at(ran.part(part)?, &conditions)
}

fn six() -> Vec<&'static str> {
    LONG.into_iter().chain(SHORT).collect()
}

fn index(ran: &Ran, part: &str, bold: &[&str]) -> Result<Samples, String> {
    jain(column(ran, part, bold)?, &six())
}

/// How many times as much a transfer has as without anyone's boldness.
fn gain(ran: &Ran, part: &str, bold: &[&str], name: &str) -> Result<Samples, String> {
    let plain = throughput(column(ran, part, &[])?, name)?;
    Ok(ratio(&throughput(column(ran, part, bold)?, name)?, &plain))
}

fn cells(ran: &Ran) -> Numbers {
    let columns: [(&str, &[&str]); 3] =
        [("benchmark", &[]), ("ibk-300", &["f300"]), ("ibk-600", &["f600"])];
    let mut numbers = Vec::new();
    for (name, bold) in columns {
        let point = column(ran, "red", bold)?;
        numbers.push(number(format!("{name}-utilisation"), utilisation(point)?));
        numbers.push(number(format!("{name}-jain"), jain(point, &six())?));
        for transfer in LONG {
            let (trip, rate) = (transfer.trim_start_matches('f'), throughput(point, transfer)?);
            numbers.push(number(format!("{name}-{trip}-ms-kbps"), scaled(&rate, 1e-3)));
        }
    }
    Ok(numbers)
}

fn gains(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for part in ["red", "fifo"] {
        for (trip, name) in [(300, "f300"), (600, "f600")] {
            numbers.push(number(format!("{part}-{trip}"), gain(ran, part, &[name], name)?));
        }
    }
    Ok(numbers)
}

fn harm(ran: &Ran) -> Numbers {
    let of = |(trip, name): (u32, &str)| {
        let others = LONG.into_iter().filter(|other| *other != name);
        let loss = |other| {
            let gain = gain(ran, "red", &[name], other)?;
            Ok(gain.iter().map(|gain| 1.0 - gain).collect())
        };
        let losses = others.map(loss).collect::<Result<Vec<Samples>, String>>()?;
        Ok(number(format!("largest-loss-{trip}"), max_by_mean(losses)?))
    };
    [(300, "f300"), (600, "f600")].into_iter().map(of).collect()
}

fn fairness_of(ran: &Ran, part: &str) -> Numbers {
    let [plain, middle, far] = [&[][..], &["f300"], &["f600"]].map(|bold| index(ran, part, bold));
    let (plain, middle, far) = (plain?, middle?, far?);
    Ok(vec![
        number("ibk-300-less-benchmark", less(&middle, &plain)),
        number("ibk-600-less-ibk-300", less(&far, &middle)),
    ])
}

fn fairness(ran: &Ran) -> Numbers {
    fairness_of(ran, "red")
}

fn both(ran: &Ran) -> Numbers {
    let mut numbers = Vec::new();
    for (trip, name) in [(300, "f300"), (600, "f600")] {
        let (alone, both) =
            (gain(ran, "red", &[name], name)?, gain(ran, "red", &["f300", "f600"], name)?);
        numbers.push(number(format!("alone-to-both-{trip}"), ratio(&alone, &both)));
        numbers.push(number(format!("gain-{trip}"), both));
    }
    Ok(numbers)
}

fn all(ran: &Ran) -> Numbers {
    let bold = jain(at(ran.part("all")?, &[])?, &six())?;
    Ok(vec![number("jain-all-less-benchmark", less(&bold, &index(ran, "red", &[])?))])
}

fn reverse(ran: &Ran) -> Numbers {
    let mut numbers = fairness_of(ran, "reverse")?;
    for (trip, name) in [(300, "f300"), (600, "f600")] {
        numbers.push(number(format!("gain-{trip}"), gain(ran, "reverse", &[name], name)?));
    }
    Ok(numbers)
}

/// Timeouts in the midst of fast recovery, over those with the coarse timer.
fn clocks(ran: &Ran) -> Numbers {
    let part = ran.part("clocks")?;
    let timeouts = |control: &str, tick: &str| {
        let point = at(part, &[("tcp.congestion", control), ("tcp.rto.tick", tick)])?;
        super::run(point, "recovery_timeouts")
    };
    let ratio = |control: &str| {
        Ok::<_, String>(ratio(&timeouts(control, "1ms")?, &timeouts(control, "500ms")?))
    };
    Ok(vec![
        number("standard-fine-to-coarse", ratio("standard")?),
        number("constant-rate-fine-to-apart", ratio("constant-rate:c=36")?),
    ])
}

/// Of the Web, with headers, on the link that it loads.
fn loads(ran: &Ran) -> Numbers {
    let web = at(ran.part("web")?, &[])?;
    let web = web.column(Table::Groups, &[("group", "web")], "goodput_sum_bps")?;
    let light = flow(at(ran.part("satellite")?, &[])?, "web", "goodput_bps")?;
    Ok(vec![
        number("load-20", scaled(&web, PACKET / DATA / super::BOTTLENECK)),
        number("load-10", scaled(&light, PACKET / DATA / SATELLITE)),
    ])
}

/// Whether the point was run until all standard deviations are within 5 % of the mean, or fifty
/// times.
fn keeps_the_rule(point: &PointRuns) -> Result<bool, String> {
    if point.runs.len() >= 50 {
        return Ok(true);
    }
    for name in six() {
        let rates = flow(point, name, "goodput_bps")?;
        let (mean, n) = (mean(&rates), rates.len() as f64);
        let square = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>();
        if (square / (n - 1.0)).sqrt() > 0.05 * mean {
            return Ok(false);
        }
    }
    Ok(true)
}

fn rule(ran: &Ran) -> Numbers {
    let part: &Part = ran.part("red")?;
    let kept = part.points.iter().map(keeps_the_rule).collect::<Result<Vec<_>, _>>()?;
    let short = kept.iter().filter(|kept| !**kept).count();
    Ok(vec![Number::new("points-short-of-the-rule", short as f64)])
}
