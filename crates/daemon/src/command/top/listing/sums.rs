//! The lists of subscribers and of remotes: sums over flows.

use super::cell::held_back;
use super::{Column, Rank, Row};
use crate::command::top::look::Word;
use crate::command::top::model::groups::{RemoteRow, SubscriberRow, Sums};
use crate::command::top::units;
use std::net::IpAddr;

impl Row for SubscriberRow {
    type Id = IpAddr;
    const COLUMNS: &'static [Column<SubscriberRow>] = &[
        rate(),
        Column::<SubscriberRow>::text(
            "subscriber",
            20,
            0,
            |row, _| row.address.to_string(),
            |row| Rank::Address(row.address, 0),
        )
        .up_to(39),
        flows(6),
        up("up"),
        down("down"),
        Column::number(
            "up B",
            6,
            0,
            |row, _| units::short(row.sums.up_bytes as f64),
            |row| Rank::number(row.sums.up_bytes as f64),
        ),
        Column::number(
            "down B",
            6,
            0,
            |row, _| units::short(row.sums.down_bytes as f64),
            |row| Rank::number(row.sums.down_bytes as f64),
        ),
        retransmitted(),
        held(0),
        held_back_by(),
    ];

    fn id(&self) -> IpAddr {
        self.address
    }

    fn text(&self) -> String {
        format!("{} {}", self.address, held_back(self.sums.held_back.as_ref()))
    }
}

impl Row for RemoteRow {
    type Id = Word;
    const COLUMNS: &'static [Column<RemoteRow>] = &[
        rate(),
        Column::<RemoteRow>::text(
            "remote",
            18,
            0,
            |row, _| row.name.to_string(),
            |row| Rank::Text(row.name.to_string()),
        )
        .up_to(43),
        flows(5),
        up("to it"),
        down("from"),
        Column::number(
            "used at",
            7,
            0,
            |row, _| units::short_or_none(row.used_at_bps.map(|rate| rate as f64)),
            |row| Rank::Number(row.used_at_bps.map(|rate| rate as f64)),
        ),
        Column::number(
            "RTT",
            5,
            0,
            |row, _| units::millis(row.srtt_s),
            |row| Rank::Number(row.srtt_s),
        ),
        Column::number(
            "queue",
            5,
            0,
            |row, _| units::millis(row.queue_s),
            |row| Rank::Number(row.queue_s),
        ),
        retransmitted(),
        held(90),
        Column::number(
            "window",
            6,
            100,
            |row, _| units::short_or_none(row.window_bytes.map(|bytes| bytes as f64)),
            |row| Rank::Number(row.window_bytes.map(|bytes| bytes as f64)),
        ),
        held_back_by(),
    ];

    fn id(&self) -> Word {
        self.name.clone()
    }

    fn text(&self) -> String {
        format!("{} {}", self.name, held_back(self.sums.held_back.as_ref()))
    }
}

/// A row of sums.
trait Summed {
    fn sums(&self) -> &Sums;
}

impl Summed for SubscriberRow {
    fn sums(&self) -> &Sums {
        &self.sums
    }
}

impl Summed for RemoteRow {
    fn sums(&self) -> &Sums {
        &self.sums
    }
}

/// The rate both ways, by which both lists are sorted.
const fn rate<R: Summed>() -> Column<R> {
    Column::unseen("rate", |row: &R| Rank::number(row.sums().up_bps + row.sums().down_bps))
}

const fn flows<R: Summed>(width: usize) -> Column<R> {
    let cell = |row: &R, _| row.sums().flows.to_string();
    Column::number("flows", width, 0, cell, |row| Rank::number(row.sums().flows as f64))
}

const fn up<R: Summed>(head: &'static str) -> Column<R> {
    let cell = |row: &R, _| units::short(row.sums().up_bps);
    Column::number(head, 5, 0, cell, |row| Rank::number(row.sums().up_bps))
}

const fn down<R: Summed>(head: &'static str) -> Column<R> {
    let cell = |row: &R, _| units::short(row.sums().down_bps);
    Column::number(head, 5, 0, cell, |row| Rank::number(row.sums().down_bps))
}

const fn retransmitted<R: Summed>() -> Column<R> {
    let cell = |row: &R, _| units::share(row.sums().recent.share());
    Column::number("retr", 4, 0, cell, |row| Rank::Number(row.sums().recent.share()))
}

/// The bytes held, on terminals from this width on.
const fn held<R: Summed>(from: usize) -> Column<R> {
    let cell = |row: &R, _| units::short(row.sums().held_bytes as f64);
    Column::number("held", 5, from, cell, |row| Rank::number(row.sums().held_bytes as f64))
}

/// The limiter that holds most flows of a group back.
const fn held_back_by<R: Summed>() -> Column<R> {
    let cell = |row: &R, _| held_back(row.sums().held_back.as_ref());
    Column::text("most by", 9, 0, cell, |row| Rank::Text(held_back(row.sums().held_back.as_ref())))
}
