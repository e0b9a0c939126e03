//! Links whose directions differ, as those of every satellite do: gateways that know both rates, or
//! one of which does.

use super::{Direction, Size, percent};
use crate::satellite::case::{Case, Column, Seeds};
use crate::satellite::limit::{Limit, Opening};
use crate::satellite::setup::{DOWNLOAD, Place, Setup};
use crate::satellite::target::{Figure, Target};
use bentpipe_core::time::Duration;
use bentpipe_core::units::Rate;

const ROUND_TRIP: Duration = Duration::from_millis(600);

/// Down to the client and up from it, in kbit/s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Link {
    down: u64,
    up: u64,
}

const fn link(down: u64, up: u64) -> Link {
    Link { down, up }
}

/// Each with what takes a few seconds on it, and up to a minute.
const LINKS: [(Link, &[Size]); 8] = [
    (link(250_000, 3_000), &[Size::KB_100, Size::MB_1, Size::MB_10, Size::MB_100]),
    (link(100_000, 15_000), &[Size::KB_100, Size::MB_1, Size::MB_10, Size::MB_100]),
    (link(50_000, 10_000), &[Size::KB_100, Size::MB_1, Size::MB_10, Size::MB_100]),
    (link(50_000, 2_000), &[Size::KB_100, Size::MB_1, Size::MB_10]),
    (link(20_000, 2_000), &[Size::KB_100, Size::MB_1, Size::MB_10]),
    (link(10_000, 2_000), &[Size::KB_100, Size::MB_1, Size::MB_10]),
    (link(8_000, 256), &[Size::KB_100, Size::MB_1, Size::MB_10]),
    (link(2_000, 250), &[Size::KB_100, Size::MB_1]),
];

/// In percent of the packets of both directions.
const LOSSES: [f64; 4] = [0.0, 0.1, 0.5, 1.0];

pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for (link, sizes) in LINKS {
        for size in sizes {
            for loss in LOSSES {
                cases.push(case(link, Direction::Download, *size, loss));
            }
        }
    }
    // What goes the narrow way takes as long with a tenth of the bytes.
    for (link, size) in
        [(LINKS[1].0, Size::MB_10), (LINKS[3].0, Size::MB_1), (LINKS[6].0, Size::KB_100)]
    {
        for loss in LOSSES {
            cases.push(case(link, Direction::Upload, size, loss));
        }
    }
    cases
}

fn case(link: Link, direction: Direction, size: Size, loss: f64) -> Case {
    let (text, probability) = percent(loss);
    let (what, opening, rate) = match direction {
        Direction::Download => ("download", Opening::Receiver, link.down),
        Direction::Upload => ("upload", Opening::Sender, link.up),
    };
    let [down, up] = [link.down, link.up].map(|rate| format!("{rate}kbit/s"));
    let told = |rate: &str, return_rate: &str| Place::Told {
        rate: rate.to_owned(),
        return_rate: Some(return_rate.to_owned()),
        round_trip: "600ms".to_owned(),
    };
    let setup = Setup::of(DOWNLOAD)
        .with("flow.transfer.bytes", size.text())
        .with("link.sat.rate", down.clone())
        .with("link.sat.delay", "300ms")
        .with("link.sat.back.rate", up.clone());
    let setup = match direction {
        Direction::Download => setup,
        Direction::Upload => setup.upload(),
    };
    let setup = if loss > 0.0 { setup.with("link.sat.loss", text.clone()) } else { setup };
    let ideal = Limit::of(Rate::from_bits_per_sec(rate * 1000), ROUND_TRIP, size.bytes, opening);
    let target = |figure| match loss > 0.0 {
        // Beyond what an ideal sender takes: three hundredths of what that takes without losses.
        true => Target::beyond(figure, 0.03 * ideal.seconds(), Figure::Limit),
        false => Target::times(figure, 1.05, Figure::Limit),
    };
    let seeds = match loss > 0.0 {
        true if size.bytes >= Size::MB_100.bytes => Seeds::Tenth,
        true => Seeds::All,
        false => Seeds::One,
    };
    let name = format!("asymmetric {down} / {up}, {what}, {}, loss {text}", size.name);
    let (server, client) = (told(&down, &up), told(&up, &down));
    Case::new(name, seeds)
        .limit(Limit { loss: probability.into(), ..ideal.clone() })
        .end_to_end_bbr(&setup)
        .column(Column::Known, setup.clone().between(server.clone(), client.clone()))
        .column(Column::ServerTold, setup.clone().between(server, Place::Gateway))
        .column(Column::ClientTold, setup.clone().between(Place::Gateway, client))
        .column(Column::Estimated, setup.pair(&Place::Gateway))
        .target(target(Figure::Known))
        .target(target(Figure::ServerTold))
        .target(target(Figure::ClientTold))
}
