//! By which interfaces a connection's packets go through this host, in both directions.

use super::{Hindrance, Verdict};
use crate::control::Connection;
use crate::routes::{Route, RouteQuery, Routes, Unrouted};
use bentpipe_gateway::Side;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::IpAddr;

/// Both.
pub(super) struct Directions {
    there: Direction,
    back: Direction,
}

/// One of them.
struct Direction {
    name: &'static str,
    /// The interface by which its packets are taken to come in.
    by: Option<String>,
    /// The host to which they go.
    to: IpAddr,
    /// The key that names the interfaces of its side, and these.
    key: &'static str,
    interfaces: Vec<String>,
    routes: Routes,
}

impl Directions {
    /// As the kernel has them now, on a host with these interfaces of both sides.
    pub(super) fn of(connection: &Connection, [lan, satellite]: [Vec<String>; 2]) -> Directions {
        let Connection { from, client, server } = *connection;
        let (lan, satellite) = (("lan", lan), ("satellite", satellite));
        let (near, far) = if from == Side::Lan { (lan, satellite) } else { (satellite, lan) };
        let query =
            |by: Option<&String>, from, to, ports| RouteQuery { by: by.cloned(), from, to, ports };
        // A host's packets are taken to come in by the interface by which it is reached.
        let reached = |host, interfaces: &[String]| {
            let route = query(None, None, host, None).unmarked();
            let devices = route.devices.unwrap_or_default();
            let ours = devices.iter().find(|device| interfaces.contains(device));
            ours.or(devices.first()).or(interfaces.first()).cloned()
        };
        let (client_by, server_by) = (reached(client, &near.1), reached(server.ip(), &far.1));
        let port = server.port();
        let there = query(client_by.as_ref(), Some(client), server.ip(), Some(("dport", port)));
        let back = query(server_by.as_ref(), Some(server.ip()), client, Some(("sport", port)));
        let direction = |name, query: RouteQuery, (key, interfaces)| {
            let routes = query.routes();
            Direction { name, by: query.by, to: query.to, key, interfaces, routes }
        };
        Directions { there: direction("there", there, far), back: direction("back", back, near) }
    }

    /// Whether both lead through the gateway.
    pub(super) fn verdict(&self) -> Verdict {
        self.there.verdict().and(self.back.verdict())
    }

    /// What of them keeps the connection from being split.
    pub(super) fn hindrances(&self) -> Vec<Hindrance> {
        [&self.there, &self.back].into_iter().filter_map(Direction::hindrance).collect()
    }

    pub(super) fn lines(&self) -> String {
        self.there.lines() + &self.back.lines()
    }

    pub(super) fn json(&self) -> Value {
        json!({ "there": self.there.json(), "back": self.back.json() })
    }
}

impl Direction {
    fn verdict(&self) -> Verdict {
        let unmarked = self.verdict_of(&self.routes.unmarked);
        match self.routes.by_mark.iter().all(|(_, route)| self.verdict_of(route) == unmarked) {
            true => unmarked,
            false => Verdict::Depends,
        }
    }

    fn verdict_of(&self, route: &Route) -> Verdict {
        match &route.devices {
            Err(Unrouted::Unknown(_)) => Verdict::Depends,
            Err(_) => Verdict::No,
            Ok(devices) if devices.iter().all(|it| self.interfaces.contains(it)) => Verdict::Yes,
            Ok(devices) if devices.iter().any(|it| self.interfaces.contains(it)) => {
                Verdict::Depends
            }
            Ok(_) => Verdict::No,
        }
    }

    fn hindrance(&self) -> Option<Hindrance> {
        let Direction { to, key, routes: Routes { unmarked, .. }, .. } = self;
        if self.verdict_of(unmarked) != Verdict::No {
            return None;
        }
        Some(match &unmarked.devices {
            Ok(devices) => {
                let (devices, said) = (devices.join(" and "), said_by(unmarked));
                Hindrance {
                    name: "other_interface".to_owned(),
                    cause: format!(
                        "packets to {to} leave by {devices}{said}, which is not in `{key}`"
                    ),
                    remedy: Some(format!(
                        "name {devices} in `{key}`, or change the route, if it is to be split"
                    )),
                }
            }
            Err(Unrouted::Local) => Hindrance {
                name: "local".to_owned(),
                cause: format!("{to} is an address of this host"),
                remedy: Some("name the host behind it, if this one translates it".to_owned()),
            },
            Err(Unrouted::No(why)) => Hindrance {
                name: "no_route".to_owned(),
                cause: format!("packets to {to} are not forwarded: {why}"),
                remedy: None,
            },
            Err(Unrouted::Unknown(_)) => return None,
        })
    }

    fn lines(&self) -> String {
        let Routes { unmarked, by_mark } = &self.routes;
        let (head, by) = (format!("{}:", self.name), self.by.as_deref().unwrap_or("?"));
        let mut text = format!("  {head:8} in by {by}, {}\n", self.in_words(unmarked));
        for (mark, route) in by_mark {
            let _ = writeln!(text, "           with the mark {mark} {}", self.in_words(route));
        }
        text
    }

    fn in_words(&self, route: &Route) -> String {
        let out = match &route.devices {
            Ok(devices) => format!("out by {}", devices.join(" or ")),
            Err(Unrouted::Local) => "for this host".to_owned(),
            Err(Unrouted::No(why)) => format!("not forwarded: {why}"),
            Err(Unrouted::Unknown(why)) => format!("not known: {why}"),
        };
        let not = if self.verdict_of(route) == Verdict::No { ", and so not split" } else { "" };
        out + &said_by(route) + not
    }

    fn json(&self) -> Value {
        let route = |Route { devices, table, rule }: &Route| {
            let error = match devices {
                Ok(_) => None,
                Err(Unrouted::Local) => Some("local"),
                Err(Unrouted::No(why)) => Some(*why),
                Err(Unrouted::Unknown(why)) => Some(why.as_str()),
            };
            json!({ "devices": devices.as_ref().ok(), "error": error, "table": table, "rule": rule })
        };
        let Routes { unmarked, by_mark } = &self.routes;
        let mut value = route(unmarked);
        value["by"] = json!(self.by);
        value["by_mark"] = by_mark.iter().map(|(mark, it)| (mark.clone(), route(it))).collect();
        value
    }
}

/// By which table and rule, if not as always.
fn said_by(route: &Route) -> String {
    match (&route.rule, &route.table) {
        (Some(rule), _) => format!(" (ip rule {rule})"),
        (None, Some(table)) => format!(" (table {table})"),
        (None, None) => String::new(),
    }
}
