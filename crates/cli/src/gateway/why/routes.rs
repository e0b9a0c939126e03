//! By which interfaces a connection's packets go here.

use super::Obstacle;
use bentpipe_gateway::Side;
use bentpipe_net::control::Connection;
use bentpipe_net::surroundings::{Asked, Surroundings, Way, Ways};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::IpAddr;

/// How the connection's packets are routed here.
pub(super) struct Routes {
    there: Direction,
    back: Direction,
}

/// One direction's packets.
struct Direction {
    name: &'static str,
    /// The host to which they go.
    to: IpAddr,
    /// The key that names the interfaces of its side, and these.
    key: &'static str,
    interfaces: Vec<String>,
    ways: Ways,
}

impl Routes {
    pub(super) fn of(connection: &Connection, surroundings: &Surroundings) -> Routes {
        let Connection { from, client, server } = *connection;
        let [lan, satellite] = surroundings.interfaces().map(<[String]>::to_vec);
        let (lan, satellite) = (("lan", lan), ("satellite", satellite));
        let (near, far) = if from == Side::Lan { (lan, satellite) } else { (satellite, lan) };
        let ways =
            |by: Option<&String>, from, to, port| Asked { by: by.cloned(), from, to, port }.ways();
        // The server's answers come by the interface by which this host would reach it.
        let nearest = ways(None, None, server.ip(), None).unmarked.device.ok();
        let server_by = nearest.filter(|it| far.1.contains(it)).or(far.1.first().cloned());
        let back = ways(server_by.as_ref(), Some(server.ip()), client, None);
        let client_by = back.unmarked.device.as_ref().ok().or(near.1.first());
        let there = ways(client_by, Some(client), server.ip(), Some(server.port()));
        let direction =
            |name, to, (key, interfaces), ways| Direction { name, to, key, interfaces, ways };
        Routes {
            there: direction("there", server.ip(), far, there),
            back: direction("back", client, near, back),
        }
    }

    /// What of them keeps the connection from being split.
    pub(super) fn obstacles(&self) -> Vec<Obstacle> {
        let obstacle = self.there.obstacle();
        // What does not go there does not come back.
        let is_cut = obstacle.is_some() && self.there.ways.unmarked.device.is_err();
        let back = if is_cut { None } else { self.back.obstacle() };
        obstacle.into_iter().chain(back).collect()
    }

    pub(super) fn lines(&self) -> String {
        self.there.lines() + &self.back.lines()
    }

    pub(super) fn json(&self) -> Value {
        json!({ "there": self.there.json(), "back": self.back.json() })
    }
}

impl Direction {
    fn obstacle(&self) -> Option<Obstacle> {
        let Direction { to, key, interfaces, ways, .. } = self;
        match &ways.unmarked.device {
            Err(why) => Some(Obstacle {
                name: "no_route",
                cause: format!("packets to {to} are not forwarded: {why}"),
                remedy: None,
            }),
            Ok(device) if interfaces.contains(device) => None,
            Ok(device) => Some(Obstacle {
                name: "other_interface",
                cause: format!(
                    "packets to {to} leave by {device}{}, which is not in `{key}`",
                    said_by(&ways.unmarked)
                ),
                remedy: Some(format!(
                    "name {device} in `{key}`, or change the route, if it is to be split"
                )),
            }),
        }
    }

    fn lines(&self) -> String {
        let Ways { unmarked, by_mark } = &self.ways;
        let head = format!("{}:", self.name);
        let mut text = format!("  {head:8} {}\n", self.in_words(unmarked));
        for (mark, way) in by_mark {
            let _ = writeln!(text, "           with the mark {mark} {}", self.in_words(way));
        }
        text
    }

    fn in_words(&self, way: &Way) -> String {
        let by = match &way.device {
            Err(why) => format!("nowhere: {why}"),
            Ok(device) if self.interfaces.contains(device) => format!("by {device}"),
            Ok(device) => format!("by {device}, and so not split"),
        };
        by + &said_by(way)
    }

    fn json(&self) -> Value {
        let way = |Way { device, table, rule }: &Way| {
            let (device, error) = (device.as_ref().ok(), device.as_ref().err());
            json!({ "device": device, "error": error, "table": table, "rule": rule })
        };
        let Ways { unmarked, by_mark } = &self.ways;
        let mut value = way(unmarked);
        value["by_mark"] = by_mark.iter().map(|(mark, it)| (mark.clone(), way(it))).collect();
        value
    }
}

/// By which table and rule, if not as always.
fn said_by(way: &Way) -> String {
    match (&way.rule, &way.table) {
        (Some(rule), _) => format!(" (ip rule {rule})"),
        (None, Some(table)) => format!(" (table {table})"),
        (None, None) => String::new(),
    }
}
