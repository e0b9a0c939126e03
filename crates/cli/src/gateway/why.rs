//! `bentpipe gateway why`: whether a connection is split, or would be; and if not, by which route, rule, limit or option.
//!
//! The gateway answers: it knows its flows, its policy and what it did not split lately, and asks the kernel for the routes.

mod routes;

use super::condition::Condition;
use super::flows::age;
use super::inquiry::{Inquiry, UNSPLIT};
use super::{Error, answers, flows, reasons};
use bentpipe_core::time::Duration;
use bentpipe_gateway::{FlowView, Prospect, Side, Unsplit};
use bentpipe_net::control::{Connection, ControlClient, Question, Snapshot};
use bentpipe_net::surroundings::Surroundings;
use routes::Routes;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::process::ExitCode;

/// What is asked about.
#[derive(clap::Args)]
pub(super) struct Arguments {
    /// The client's address; or, alone, a number of `flows` or `flows --forwarded`
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

/// Asks the gateway that runs here.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let what = &arguments.what;
    let inquiry = match arguments.server.zip(arguments.port) {
        None => Inquiry::of_number(what).ok_or_else(|| {
            Error::Inquiry(format!("{what} is no number of a flow; or name CLIENT SERVER PORT"))
        })?,
        Some((server, port)) => {
            let client: IpAddr =
                what.parse().map_err(|_| Error::Inquiry(format!("{what} is no address")))?;
            if client.is_ipv4() != server.is_ipv4() {
                let why = format!("{client} and {server} are addresses of two families");
                return Err(Error::Inquiry(why));
            }
            let from = if arguments.from_satellite { Side::Satellite } else { Side::Lan };
            let server = SocketAddr::new(server, port);
            Inquiry::Connection(Connection { from, client, server })
        }
    };
    io::stdout().write_all(&answers::inquire(&inquiry, arguments.json)?)?;
    Ok(ExitCode::SUCCESS)
}

/// What the gateway answers. None where its loop does not.
pub(super) fn answer(
    client: &ControlClient,
    condition: &Condition,
    surroundings: &Surroundings,
    (inquiry, json): (Inquiry, bool),
) -> Option<String> {
    let answer = match inquiry {
        Inquiry::Connection(connection) => {
            let snapshot = client.ask(Question::Why(connection)).ok()?;
            Answer::about(connection, &snapshot, condition, surroundings)
        }
        Inquiry::Flow(number) => {
            let flows = client.ask(Question::Flows).ok()?.flows;
            match flows.into_iter().find(|flow| flow.number == number) {
                Some(flow) => Answer::of_flow(&flow),
                None => Answer::unknown(format!("there is no flow {number} (any more)")),
            }
        }
        Inquiry::Unsplit(number) => {
            let snapshot = client.ask(Question::Unsplit).ok()?;
            match snapshot.unsplit.iter().find(|it| it.number == number) {
                Some(unsplit) => Answer::of_unsplit(unsplit, snapshot.totals.uptime),
                None => Answer::unknown(format!("{UNSPLIT}{number} is not known (any more)")),
            }
        }
    };
    Some(if json { format!("{}\n", answer.value) } else { answer.text })
}

/// Why something is not split.
struct Obstacle {
    name: &'static str,
    cause: String,
    remedy: Option<String>,
}

/// For people and for machines.
struct Answer {
    text: String,
    value: Value,
}

impl Answer {
    fn unknown(text: String) -> Answer {
        Answer { value: json!({ "error": text }), text: text + "\n" }
    }

    fn of_flow(flow: &FlowView) -> Answer {
        let text = format!(
            "flow {}: {} to {}{} is split ({}, for {})\n",
            flow.number,
            flow.client,
            flow.server,
            opened_by(flow.opener, flow.client),
            flow.state.name(),
            flows::span(flow.age),
        );
        Answer { text, value: json!({ "splits": true, "flow": flows::flow(flow) }) }
    }

    fn of_unsplit(unsplit: &Unsplit, now: Duration) -> Answer {
        let Unsplit { hosts, opener, reason, .. } = *unsplit;
        let ago = flows::span(age(unsplit, now));
        let mut text = format!(
            "{} to {}{} was not split {ago} ago: {}",
            hosts.client,
            hosts.server,
            opened_by(opener, hosts.client),
            reasons::cause(reason),
        );
        if let Some(remedy) = reasons::remedy(reason) {
            let _ = write!(text, "; {remedy}");
        }
        let obstacle = Obstacle {
            name: reason.name(),
            cause: reasons::cause(reason).to_owned(),
            remedy: reasons::remedy(reason).map(str::to_owned),
        };
        let value = json!({
            "splits": false,
            "obstacles": [obstacle.json()],
            "connection": flows::unsplit(unsplit, now),
        });
        Answer { text: text + "\n", value }
    }

    fn about(
        connection: Connection,
        snapshot: &Snapshot,
        condition: &Condition,
        surroundings: &Surroundings,
    ) -> Answer {
        let Connection { client, server, .. } = connection;
        let is_it = |opener: IpAddr, from: SocketAddr, to: SocketAddr| {
            (opener == client || from.ip() == client) && to == server
        };
        let now = snapshot.totals.uptime;
        let split = snapshot.flows.iter();
        let split: Vec<&FlowView> =
            split.filter(|flow| is_it(flow.opener, flow.client, flow.server)).collect();
        let before = snapshot.unsplit.iter();
        let mut before: Vec<&Unsplit> =
            before.filter(|it| is_it(it.opener, it.hosts.client, it.hosts.server)).collect();
        before.sort_by_key(|it| std::cmp::Reverse(it.at));
        let routes = Routes::of(&connection, surroundings);
        let prospect = snapshot.prospect;
        let mut obstacles = Vec::new();
        obstacles.extend(
            condition.taking.findings().iter().filter(|it| it.forbids_diversion()).map(|finding| {
                Obstacle { name: finding.name(), cause: finding.cause(), remedy: finding.remedy() }
            }),
        );
        obstacles.extend(routes.obstacles());
        obstacles.extend(prospect.and_then(|prospect| of_prospect(&prospect)));

        let mut text = format!("{client} to {} port {}: ", server.ip(), server.port());
        text += match (split.is_empty(), obstacles.is_empty()) {
            (false, _) => "is split\n",
            (true, true) => "would be split\n",
            (true, false) => "would not be split\n",
        };
        for flow in &split {
            let _ = writeln!(
                text,
                "  now:     flow {}, {}, for {}",
                flow.number,
                flow.state.name(),
                flows::span(flow.age)
            );
        }
        for obstacle in &obstacles {
            let _ = writeln!(text, "  why not: {}", obstacle.in_words());
        }
        text += &routes.lines();
        if let Some(Prospect { rule, flows_of_client, .. }) = prospect {
            let rule =
                rule.map_or("no rule names it".to_owned(), |(rule, _)| format!("rule {rule} names it"));
            let _ = writeln!(text, "  policy:  {rule}; its client has {flows_of_client} flows now");
        }
        for unsplit in &before {
            let (ago, cause) = (flows::span(age(unsplit, now)), reasons::cause(unsplit.reason));
            let times = if unsplit.times > 1 {
                format!(", {} times", unsplit.times)
            } else {
                String::new()
            };
            let _ = writeln!(text, "  before:  {ago} ago not split{times}: {cause}");
        }
        if obstacles.is_empty() && split.is_empty() {
            let forwarded = reasons::cause(bentpipe_gateway::Reason::Options);
            let _ = writeln!(text, "  but not: if {forwarded}");
        }
        let value = json!({
            "splits": !split.is_empty() || obstacles.is_empty(),
            "obstacles": obstacles.iter().map(Obstacle::json).collect::<Vec<_>>(),
            "flows": split.iter().map(|flow| flows::flow(flow)).collect::<Vec<_>>(),
            "routes": routes.json(),
            "policy_rule": prospect.and_then(|prospect| prospect.rule).map(|(rule, _)| rule),
            "flows_of_client": prospect.map(|prospect| prospect.flows_of_client),
            "before": before.iter().map(|it| flows::unsplit(it, now)).collect::<Vec<_>>(),
        });
        Answer { text, value }
    }
}

impl Obstacle {
    fn in_words(&self) -> String {
        let Obstacle { cause, remedy, .. } = self;
        remedy.as_ref().map_or(cause.clone(), |remedy| format!("{cause}; {remedy}"))
    }

    fn json(&self) -> Value {
        let Obstacle { name, cause, remedy } = self;
        json!({ "name": name, "cause": cause, "remedy": remedy })
    }
}

/// What the gateway itself has against it.
fn of_prospect(prospect: &Prospect) -> Option<Obstacle> {
    let reason = prospect.reason?;
    let cause = match (reason, prospect.rule) {
        (bentpipe_gateway::Reason::Policy, Some((rule, _))) => {
            format!("rule {rule} of [policy] forwards it")
        }
        (bentpipe_gateway::Reason::Observed, Some((rule, _))) => {
            format!("rule {rule} of [policy] observes it, or the gateway only observes")
        }
        _ => reasons::cause(reason).to_owned(),
    };
    let remedy = reasons::remedy(reason).map(str::to_owned);
    Some(Obstacle { name: reason.name(), cause, remedy })
}

fn opened_by(opener: IpAddr, client: SocketAddr) -> String {
    if opener == client.ip() { String::new() } else { format!(", which {opener} opened,") }
}
