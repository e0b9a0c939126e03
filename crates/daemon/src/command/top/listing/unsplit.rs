//! The lists of connections that were not split: their reasons, and the last ones.

use super::{Column, Rank, Row};
use crate::command::top::look::{Unsplit, Word};
use crate::command::top::model::unsplit::ReasonRow;
use crate::command::top::units;

impl Row for ReasonRow {
    type Id = Word;
    const COLUMNS: &'static [Column<ReasonRow>] = &[
        Column::text(
            "not split for",
            13,
            0,
            |row, _| row.reason.to_string(),
            |row| Rank::Text(row.reason.to_string()),
        ),
        Column::number(
            "conns",
            6,
            0,
            |row, _| units::short(row.connections as f64),
            |row| Rank::number(row.connections as f64),
        ),
        Column::number(
            "packets",
            7,
            0,
            |row, _| units::short(row.packets as f64),
            |row| Rank::number(row.packets as f64),
        ),
        Column::number(
            "bytes",
            6,
            0,
            |row, _| units::short(row.bytes as f64),
            |row| Rank::number(row.bytes as f64),
        ),
        Column::<ReasonRow>::text(
            "meaning",
            40,
            0,
            |row, width| units::cut(row.meaning.unwrap_or(""), width),
            |row| Rank::Text(row.reason.to_string()),
        )
        .up_to(140),
    ];
    const SORTED_BY: usize = 3;

    fn id(&self) -> Word {
        self.reason.clone()
    }

    fn text(&self) -> String {
        self.reason.to_string()
    }
}

impl Row for Unsplit {
    type Id = Word;
    const COLUMNS: &'static [Column<Unsplit>] = &[
        Column::number("ago", 4, 0, |row, _| units::age(row.ago_s), |row| Rank::number(-row.ago_s)),
        Column::<Unsplit>::text(
            "client",
            21,
            0,
            |row, _| row.client.to_string(),
            |row| Rank::Address(row.client.ip(), row.client.port()),
        )
        .up_to(47),
        Column::<Unsplit>::text(
            "server",
            21,
            0,
            |row, _| row.server.to_string(),
            |row| Rank::Address(row.server.ip(), row.server.port()),
        )
        .up_to(47),
        Column::text(
            "reason",
            12,
            0,
            |row, _| row.reason.to_string(),
            |row| Rank::Text(row.reason.to_string()),
        ),
        Column::number(
            "times",
            5,
            0,
            |row, _| units::short(row.times as f64),
            |row| Rank::number(row.times as f64),
        ),
        Column::text(
            "number",
            7,
            0,
            |row, _| row.number.to_string(),
            |row| Rank::Text(row.number.to_string()),
        ),
    ];

    fn id(&self) -> Word {
        self.number.clone()
    }

    fn text(&self) -> String {
        let Unsplit { number, client, server, opener, reason, .. } = self;
        format!("{number} {client} {server} {opener} {reason}")
    }
}
