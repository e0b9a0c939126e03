//! `why`: whether a connection is split, or would be; and if not, by which route, rule, limit or
//! option.
//!
//! The gateway that runs here says what it knows; the kernel is asked for the routes by who asks,
//! as that may take its time.

mod directions;
mod facts;

pub(super) use facts::facts;

use super::inquiry::Inquiry;
use super::{Error, answers, reasons};
use crate::control::Connection;
use bentpipe_gateway::{Reason, Side};
use directions::Directions;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

/// What is asked about.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The client's address; or, alone, the number of a line of `flows` (12) or `flows --forwarded`
    /// (f12)
    #[arg(value_name = "CLIENT|NUMBER")]
    what: String,
    /// The server's address
    #[arg(requires = "port")]
    server: Option<IpAddr>,
    /// The server's port
    port: Option<u16>,
    /// The client is behind the satellite, and the server on the LAN
    #[arg(long, requires = "server")]
    from_satellite: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

/// Whether connections are split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Yes,
    No,
    /// Some are: by what a firewall marks, or by the hop that a route takes.
    Depends,
}

impl Verdict {
    fn and(self, other: Verdict) -> Verdict {
        match (self, other) {
            (Verdict::No, _) | (_, Verdict::No) => Verdict::No,
            (Verdict::Yes, Verdict::Yes) => Verdict::Yes,
            _ => Verdict::Depends,
        }
    }
}

/// Why something is not split.
struct Hindrance {
    name: String,
    cause: String,
    remedy: Option<String>,
}

impl Hindrance {
    fn of(reason: Reason) -> Hindrance {
        Hindrance {
            name: reason.name().to_owned(),
            cause: reasons::cause(reason).to_owned(),
            remedy: reasons::remedy(reason),
        }
    }

    fn in_words(&self) -> String {
        let Hindrance { cause, remedy, .. } = self;
        remedy.as_ref().map_or(cause.clone(), |remedy| format!("{cause}; {remedy}"))
    }

    fn json(&self) -> Value {
        let Hindrance { name, cause, remedy } = self;
        json!({ "name": name, "cause": cause, "remedy": remedy })
    }
}

/// For people and for machines.
struct Answer {
    text: String,
    value: Value,
}

/// Asks the gateway that runs here, and the kernel.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let inquiry = inquiry(arguments)?;
    let facts: Value = serde_json::from_slice(&answers::inquire(&inquiry)?).unwrap_or_default();
    let Answer { text, value } = match inquiry {
        Inquiry::Connection(connection) => of_connection(&connection, &facts),
        _ if facts.is_null() => {
            let what = &arguments.what;
            return Err(Error::Inquiry(format!("{what} is not known (any more)")));
        }
        Inquiry::Flow(_) => of_flow(&facts),
        Inquiry::Unsplit(_) => of_unsplit(&facts),
    };
    let text = if arguments.json { format!("{value}\n") } else { text };
    answers::show(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn inquiry(arguments: &Arguments) -> Result<Inquiry, Error> {
    let what = &arguments.what;
    let Some((server, port)) = arguments.server.zip(arguments.port) else {
        let error = || format!("{what} is no number of a flow; or name CLIENT SERVER PORT");
        return Inquiry::of_number(what).ok_or_else(|| Error::Inquiry(error()));
    };
    let client: IpAddr =
        what.parse().map_err(|_| Error::Inquiry(format!("{what} is no address")))?;
    if client.is_ipv4() != server.is_ipv4() {
        let why = format!("{client} and {server} are addresses of two families");
        return Err(Error::Inquiry(why));
    }
    let from = if arguments.from_satellite { Side::Satellite } else { Side::Lan };
    Ok(Inquiry::Connection(Connection { from, client, server: SocketAddr::new(server, port) }))
}

fn of_flow(flow: &Value) -> Answer {
    let text = format!(
        "flow {}: {} to {}{} {}\n",
        flow["number"],
        word(flow, "client"),
        word(flow, "server"),
        opened_by(flow),
        standing(flow),
    );
    let split_now = is_split(flow);
    Answer { text, value: json!({ "split_now": split_now, "hindrances": [], "flows": [flow] }) }
}

fn of_unsplit(unsplit: &Value) -> Answer {
    let hindrance = reason(unsplit).map(Hindrance::of);
    let text = format!(
        "{} to {}{} was not split {} ago: {}\n",
        word(unsplit, "client"),
        word(unsplit, "server"),
        opened_by(unsplit),
        span(unsplit, "ago_s"),
        hindrance.as_ref().map_or_else(|| word(unsplit, "reason"), Hindrance::in_words),
    );
    let hindrances: Vec<Value> = hindrance.iter().map(Hindrance::json).collect();
    let value = json!({ "split_now": false, "hindrances": hindrances, "before": [unsplit] });
    Answer { text, value }
}

fn of_connection(connection: &Connection, facts: &Value) -> Answer {
    let Connection { client, server, .. } = connection;
    let names = |side: &str| -> Vec<String> {
        serde_json::from_value(facts["interfaces"][side].clone()).unwrap_or_default()
    };
    let directions = Directions::of(connection, [names("lan"), names("satellite")]);
    let list = |key: &str| facts[key].as_array().cloned().unwrap_or_default();
    let (flows, before) = (list("flows"), list("before"));
    let split_now = flows.iter().any(is_split);
    let mut hindrances: Vec<Hindrance> = list("in_the_way").iter().map(in_the_way).collect();
    hindrances.extend(directions.hindrances());
    hindrances.extend(of_prospect(facts));
    let verdict = match hindrances.is_empty() {
        true => directions.verdict(),
        false => Verdict::No,
    };

    let mut text = format!("{client} to {} port {}: ", server.ip(), server.port());
    text += match (split_now, verdict) {
        (true, _) => "is split\n",
        (false, Verdict::Yes) => "would be split\n",
        (false, Verdict::No) => "would not be split\n",
        (false, Verdict::Depends) => "may be split or not, by the routes below\n",
    };
    for flow in &flows {
        let _ = writeln!(text, "  now:     flow {} {}", flow["number"], standing(flow));
    }
    let not = if split_now { "next:    not split:" } else { "why not:" };
    for hindrance in &hindrances {
        let _ = writeln!(text, "  {not} {}", hindrance.in_words());
    }
    text += &directions.lines();
    let prospect = &facts["prospect"];
    let rule = match (&prospect["rule"], &prospect["action"]) {
        (Value::Number(rule), Value::String(action)) => format!("rule {rule} says {action}"),
        _ => "no rule names it".to_owned(),
    };
    let _ = writeln!(
        text,
        "  policy:  {rule}; flows of its client now: {}",
        prospect["flows_of_client"]
    );
    for unsplit in &before {
        let times = match unsplit["times"].as_u64() {
            Some(times) if times > 1 => format!(", {times} times"),
            _ => String::new(),
        };
        let cause = reason(unsplit)
            .map_or_else(|| word(unsplit, "reason"), |it| reasons::cause(it).to_owned());
        let _ =
            writeln!(text, "  before:  {} ago not split{times}: {cause}", span(unsplit, "ago_s"));
    }
    if hindrances.is_empty() && !split_now {
        let _ = writeln!(text, "  unless:  {}", reasons::cause(Reason::Options));
    }
    let value = json!({
        "split_now": split_now,
        "splits": match verdict { Verdict::Yes => Some(true), Verdict::No => Some(false), Verdict::Depends => None },
        "hindrances": hindrances.iter().map(Hindrance::json).collect::<Vec<_>>(),
        "flows": flows,
        "routes": directions.json(),
        "policy_rule": prospect["rule"],
        "flows_of_client": prospect["flows_of_client"],
        "before": before,
    });
    Answer { text, value }
}

/// What keeps everything from being split.
fn in_the_way(finding: &Value) -> Hindrance {
    Hindrance {
        name: word(finding, "name"),
        cause: word(finding, "cause"),
        remedy: finding["remedy"].as_str().map(str::to_owned),
    }
}

/// What the gateway itself has against it.
fn of_prospect(facts: &Value) -> Option<Hindrance> {
    let prospect = &facts["prospect"];
    let reason = reason(prospect)?;
    let by_rule = match reason {
        Reason::Policy => Some("forwards"),
        // It does so by a rule where it does not with all.
        Reason::Observed if facts["observes"] == false => Some("observes"),
        _ => None,
    };
    Some(match by_rule {
        Some(does) => Hindrance {
            name: reason.name().to_owned(),
            cause: format!("rule {} of [policy] {does} it", prospect["rule"]),
            remedy: reasons::remedy(Reason::Policy),
        },
        None => Hindrance::of(reason),
    })
}

fn reason(of: &Value) -> Option<Reason> {
    Reason::ALL.into_iter().find(|reason| of["reason"] == reason.name())
}

/// Whether a flow is split at the moment: not one that is being opened or released, or that is
/// over.
fn is_split(flow: &Value) -> bool {
    ["open", "half-closed", "draining"].iter().any(|state| flow["state"] == *state)
}

fn standing(flow: &Value) -> String {
    let (state, age) = (word(flow, "state"), span(flow, "age_s"));
    let is = if is_split(flow) { "is split" } else { "is not split" };
    format!("{is} ({state}, for {age})")
}

/// By whom, if NAT has translated that.
fn opened_by(it: &Value) -> String {
    let (opener, client) = (word(it, "opener"), word(it, "client"));
    let is_it = client.parse().is_ok_and(|client: SocketAddr| client.ip().to_string() == opener);
    if is_it { String::new() } else { format!(", which {opener} opened,") }
}

fn word(of: &Value, key: &str) -> String {
    of[key].as_str().unwrap_or("?").to_owned()
}

fn span(of: &Value, key: &str) -> String {
    let seconds = of[key].as_f64().unwrap_or_default();
    super::flows::span(Duration::try_from_secs_f64(seconds).unwrap_or_default())
}
