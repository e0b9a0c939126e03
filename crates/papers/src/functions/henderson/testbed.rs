//! Figure 4.13: 10 MB over a satellite, by the round trip, for four variants.

use super::{Function, Numbers, Samples, at, flow, min_by_mean, number, ratio, scaled};
use crate::functions::samples::share_of_runs;
use crate::run::packets::Packets;
use crate::run::{PointRuns, Ran};
use bentpipe_core::tcp::cause::Cause;

pub(super) const FUNCTIONS: &[(&str, Function)] =
    &[("H-4.13-d", sack_is_fastest), ("H-4.13-f", newreno)];

/// The satellite's longest round trip, in seconds.
pub(super) const GEO: f64 = 0.6;
/// Round trips in milliseconds, as swept.
const TRIPS: [u32; 9] = [20, 40, 80, 100, 200, 300, 400, 500, 600];
const SACK: &str = "recovery=sack";
const SACK_RENO: &str = "recovery=sack-reno";
const NEWRENO: &str = "recovery=newreno-less-careful,sack=off";
const RENO: &str = "recovery=reno,sack=off";
const VARIANTS: [&str; 4] = [SACK, SACK_RENO, NEWRENO, RENO];

/// The satellite's delay, one way: half a round trip less 0.6 ms of the others.
fn delay(trip: u32) -> String {
    format!("{}us", trip * 500 - 600)
}

fn point<'a>(ran: &'a Ran, trip: u32, tcp: &str) -> Result<&'a PointRuns, String> {
    at(ran.part("variants")?, &[("link.sat.delay", &delay(trip)), ("flow.main.tcp", tcp)])
}

/// Application data, in bit/s.
fn goodput(ran: &Ran, trip: u32, tcp: &str) -> Result<Samples, String> {
    flow(point(ran, trip, tcp)?, "main", "goodput_bps")
}

fn sack_is_fastest(ran: &Ran) -> Numbers {
    let mut leads = Vec::new();
    let mut once = Vec::new();
    for trip in TRIPS.into_iter().filter(|trip| *trip >= 100) {
        for other in &VARIANTS[1..] {
            leads.push(ratio(&goodput(ran, trip, SACK)?, &goodput(ran, trip, other)?));
        }
        let halvings = flow(point(ran, trip, SACK)?, "main", "first_recovery_reductions")?;
        once.extend(share_of_runs(&halvings, |halvings| halvings == 1.0));
    }
    Ok(vec![number("smallest-lead", min_by_mean(leads)?), number("runs-with-one-halving", once)])
}

/// The recovery by the losses of one transfer without other traffic: those of what was sent before
/// it began.
fn newreno(ran: &Ran) -> Numbers {
    let part = ran.part("newreno")?;
    let alone = at(part, &[])?;
    let packets = Packets::new(part, alone, 0, ("s", "d"))?;
    let began = packets.sent.iter().find(|packet| packet.cause == Some(Cause::FastRetransmit));
    let began = began.ok_or("nothing was recovered")?.at;
    let lost = packets.lost().filter(|packet| packet.at < began).count();
    let lasted = flow(alone, "main", "first_recovery_s")?;
    let ratio = ratio(&goodput(ran, 600, NEWRENO)?, &goodput(ran, 600, SACK)?);
    Ok(vec![
        number("recovery-over-losses", scaled(&lasted, 1.0 / (lost as f64 * GEO))),
        number("to-sack-newreno", ratio),
    ])
}
