//! Links whose delay varies by itself: access that is shared out on demand, adaptive modulation,
//! moving satellites. A sender that takes each rise for a queue takes each loss for congestion.

use super::{Size, geo, percent, told_geo};
use crate::satellite::case::{Case, Column, Seeds};
use crate::satellite::setup::Place;
use crate::satellite::target::{Figure, Target};
use bentpipe_links::Seeds as Random;
use rand::RngExt;
use std::fmt::Write;

/// A transfer begins anywhere in this span of the trace, so that each run meets another part of it.
const START: &str = "{ uniform = [\"0s\", \"60s\"] }";
/// What the trace says, in seconds; a transfer that takes longer sees the last delay on and on.
const LENGTH: f64 = 180.0;

/// In both directions each step draws another delay, from 250 ms to `spread` more.
pub(super) fn all() -> Vec<Case> {
    let cases = [(30, 0.1, 1.0), (60, 0.1, 1.0), (60, 0.5, 1.0), (60, 0.5, 2.0)];
    let cases = cases.into_iter().map(|(spread, step, loss)| {
        let (text, _) = percent(loss);
        let name =
            format!("10 MB, delay varies by {spread} ms every {} ms, loss {text}", step * 1000.0);
        let (setup, _) = geo(Size::MB_10);
        let setup = setup
            .with("flow.transfer.start", START)
            .with("link.sat.loss", text)
            .with("link.sat.trace", "there.csv")
            .with("link.sat.back", "{ trace = \"back.csv\" }")
            .file("there.csv", trace("there", spread, step))
            .file("back.csv", trace("back", spread, step));
        Case::new(name, Seeds::All)
            .end_to_end(&setup)
            .column(Column::Known, setup.clone().pair(&told_geo()))
            .column(Column::Estimated, setup.pair(&Place::Gateway))
            .target(Target::times(Figure::Known, 1.0, Figure::EndToEndBbr))
            .target(Target::times(Figure::Estimated, 1.0, Figure::EndToEndBbr))
    });
    cases.collect()
}

/// Delays of one direction, the same whenever it is called.
fn trace(direction: &str, spread: u64, step: f64) -> String {
    let mut random = Random::of_run(1, 0).rng(direction);
    let mut text = String::from("time,delay\n");
    let steps = (LENGTH / step) as u64;
    for number in 0..steps {
        let delay = 250_000 + random.random_range(0..=spread * 1000);
        let _ = writeln!(text, "{:.3}s,{delay}us", number as f64 * step);
    }
    text
}
