//! The list of flows.

use super::cell::held_back;
use super::{Column, Rank, Row};
use crate::command::top::model::flows::{End, FlowRow, LegRow};
use crate::command::top::model::groups::remote_of;
use crate::command::top::model::history::{self, FlowId};
use crate::command::top::units::{self, NONE};
use std::net::{IpAddr, SocketAddr};

/// A host with its port, where there is room for it.
fn host(address: IpAddr, port: u16, width: usize) -> String {
    let whole = SocketAddr::new(address, port).to_string();
    if whole.chars().count() <= width { whole } else { address.to_string() }
}

fn state_in_short(state: &str) -> &str {
    match state {
        "opening" => "new",
        "half-closed" => "half",
        "draining" => "drain",
        "releasing" => "leave",
        other => other,
    }
}

impl FlowRow {
    fn leg<T>(&self, of: impl Fn(&LegRow) -> T) -> Option<T> {
        self.over_satellite().map(|(_, leg, _)| of(leg))
    }

    fn limiter(&self, end: End) -> String {
        let leg = self.legs.as_ref().map(|legs| match end {
            End::Client => &legs.client,
            End::Server => &legs.server,
        });
        let limiter = leg.and_then(|leg| leg.limiter.as_ref());
        limiter.map_or_else(|| NONE.to_owned(), |name| units::limiter(name).to_owned())
    }
}

impl Row for FlowRow {
    type Id = FlowId;
    const COLUMNS: &'static [Column<FlowRow>] = &[
        Column::unseen("rate", |row| {
            Rank::number(row.up_bps().unwrap_or(0.0) + row.down_bps().unwrap_or(0.0))
        }),
        Column::<FlowRow>::text(
            "client",
            15,
            0,
            |row, width| host(row.opener, row.client.port(), width),
            |row| Rank::Address(row.opener, row.client.port()),
        )
        .up_to(47),
        Column::<FlowRow>::text(
            "server",
            19,
            0,
            |row, _| row.server.to_string(),
            |row| Rank::Address(row.server.ip(), row.server.port()),
        )
        .up_to(47),
        Column::<FlowRow>::text(
            "state",
            5,
            0,
            |row, _| state_in_short(&row.state).to_owned(),
            |row| Rank::Text(row.state.to_string()),
        )
        .below(100),
        Column::text(
            "state",
            11,
            100,
            |row, _| row.state.to_string(),
            |row| Rank::Text(row.state.to_string()),
        ),
        Column::number("age", 4, 0, |row, _| units::age(row.age_s), |row| Rank::number(row.age_s)),
        Column::number(
            "up",
            5,
            0,
            |row, _| units::short_or_none(row.up_bps()),
            |row| Rank::Number(row.up_bps()),
        ),
        Column::number(
            "down",
            5,
            0,
            |row, _| units::short_or_none(row.down_bps()),
            |row| Rank::Number(row.down_bps()),
        ),
        Column::number(
            "RTT",
            5,
            0,
            |row, _| units::millis(row.leg(|leg| leg.srtt_s).flatten()),
            |row| Rank::Number(row.leg(|leg| leg.srtt_s).flatten()),
        ),
        Column::number(
            "queue",
            5,
            90,
            |row, _| units::millis(row.leg(|leg| leg.queue_s).flatten()),
            |row| Rank::Number(row.leg(|leg| leg.queue_s).flatten()),
        ),
        Column::number(
            "retr",
            4,
            0,
            |row, _| units::share(row.leg(|leg| leg.recent.share()).flatten()),
            |row| Rank::Number(row.leg(|leg| leg.recent.share()).flatten()),
        ),
        Column::number(
            "held",
            5,
            96,
            |row, _| units::short(row.held_bytes as f64),
            |row| Rank::number(row.held_bytes as f64),
        ),
        Column::number(
            "cwnd",
            5,
            112,
            |row, _| units::short_or_none(row.leg(|leg| leg.cwnd_bytes as f64)),
            |row| Rank::Number(row.leg(|leg| leg.cwnd_bytes as f64)),
        ),
        Column::number(
            "flight",
            6,
            112,
            |row, _| units::short_or_none(row.leg(|leg| leg.in_flight_bytes as f64)),
            |row| Rank::Number(row.leg(|leg| leg.in_flight_bytes as f64)),
        ),
        Column::<FlowRow>::text(
            "by",
            9,
            0,
            |row, _| held_back(row.held_back.as_ref()),
            |row| Rank::Text(held_back(row.held_back.as_ref())),
        )
        .below(132),
        Column::text(
            "↑ by",
            9,
            132,
            |row, _| row.limiter(End::Server),
            |row| Rank::Text(row.limiter(End::Server)),
        ),
        Column::text(
            "↓ by",
            9,
            132,
            |row, _| row.limiter(End::Client),
            |row| Rank::Text(row.limiter(End::Client)),
        ),
    ];

    fn id(&self) -> FlowId {
        history::id(self)
    }

    fn text(&self) -> String {
        let (held, remote) = (held_back(self.held_back.as_ref()), remote_of(self));
        let FlowRow { opener, client, server, state, .. } = self;
        format!("{opener} {client} {server} {state} {held} {}", remote.unwrap_or_default())
    }
}
