//! One gateway alone, at either end: never slower than none, and faster where its leg sends over
//! the satellite and packets are lost.

use super::{Direction, Size, geo, percent, told_geo};
use crate::satellite::case::{Case, Column, Seeds};
use crate::satellite::limit::{Limit, Opening};
use crate::satellite::setup::Place;
use crate::satellite::target::{Figure, Target};

/// Where the gateway stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum At {
    Server,
    Client,
}

pub(super) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for at in [At::Server, At::Client] {
        for column in [Column::Known, Column::Estimated] {
            for direction in [Direction::Download, Direction::Upload] {
                for size in [Size::KB_100, Size::MB_1, Size::MB_10] {
                    for loss in [0.0, 0.1, 1.0] {
                        cases.push(case(at, column, direction, size, loss));
                    }
                }
            }
        }
    }
    cases
}

fn case(at: At, column: Column, direction: Direction, size: Size, loss: f64) -> Case {
    let (text, probability) = percent(loss);
    let knows = if column == Column::Known { "rate known" } else { "nothing known" };
    let (end, what) = (
        if at == At::Server { "server" } else { "client" },
        if direction == Direction::Download { "download" } else { "upload" },
    );
    let name = format!("one gateway, {end}, {knows}, {what}, {}, loss {text}", size.name);
    let seeds = if loss > 0.0 { Seeds::All } else { Seeds::One };
    let (setup, limit) = geo(size);
    let (setup, limit) = match direction {
        Direction::Download => (setup, limit),
        Direction::Upload => {
            (setup.upload(), Limit { transfers: vec![(size.bytes, Opening::Sender)], ..limit })
        }
    };
    let setup = if loss > 0.0 { setup.with("link.sat.loss", text) } else { setup };
    let gateway = if column == Column::Known { told_geo() } else { Place::Gateway };
    let with = match at {
        At::Server => setup.clone().between(gateway, Place::Router),
        At::Client => setup.clone().between(Place::Router, gateway),
    };
    let case = Case::new(name, seeds)
        .limit(Limit { loss: probability.into(), ..limit })
        .end_to_end(&setup)
        .column(column, with)
        .ratio(column, Column::EndToEnd)
        .target(Target::at_most(Figure::RatioBound, 1.02));
    // Its leg sends over the satellite: it stands at the end that the data come from.
    let sends = (at == At::Server) == (direction == Direction::Download);
    if sends && loss > 0.0 && size.bytes >= Size::MB_1.bytes {
        return case.target(Target::at_most(Figure::Ratio, 0.8));
    }
    case
}
