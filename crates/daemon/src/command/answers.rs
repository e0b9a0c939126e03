//! What a running gateway answers those who ask it, and how they ask.
//!
//! It answers with the text that is to be shown, so that who asks need not be of its version.

use super::benefit::{self, Benefit};
use super::condition::Condition;
use super::inquiry::Inquiry;
use super::record::{self, Order};
use super::{check, diversion, flows, hints, passed, prometheus, report::Report, switch, why};
use crate::control::{ControlClient, Question};
use crate::invocation::service;
use bentpipe_linux::serve::{self, ClientError, ServeError, Server};
use bentpipe_linux::surroundings::Surroundings;
use serde_json::json;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long the end waits for recordings, and from one look to the next.
const PARTING: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(2);

/// What is asked, in the words of the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Topic {
    Flows,
    Unsplit,
    Findings,
    Status,
    Report,
    ReportPage,
}

impl Topic {
    const ALL: [Topic; 6] = [
        Topic::Flows,
        Topic::Unsplit,
        Topic::Findings,
        Topic::Status,
        Topic::Report,
        Topic::ReportPage,
    ];

    fn name(self) -> &'static str {
        match self {
            Topic::Flows => "flows",
            Topic::Unsplit => "flows forwarded",
            Topic::Findings => "check",
            Topic::Status => "status",
            Topic::Report => "report",
            Topic::ReportPage => "report page",
        }
    }

    fn line(self, json: bool) -> String {
        format!("{}{}", self.name(), if json { " json" } else { "" })
    }
}

/// Asks the gateway of this network namespace.
pub(super) fn ask(topic: Topic, json: bool) -> Result<Vec<u8>, ClientError> {
    serve::ask(&service(), &topic.line(json))
}

/// Prints an answer. It comes from a process that may have fewer rights than its reader: what would
/// steer a terminal is left out.
pub(super) fn show(text: &str) -> io::Result<()> {
    io::stdout().write_all(harmless(text).as_bytes())
}

fn harmless(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// Asks it why a connection is split or not.
pub(super) fn inquire(inquiry: &Inquiry) -> Result<Vec<u8>, ClientError> {
    serve::ask(&service(), &inquiry.line())
}

/// Has it split or observe.
pub(super) fn turn(line: &str) -> Result<Vec<u8>, ClientError> {
    serve::ask(&service(), line)
}

/// Asks it for a recording.
pub(super) fn order(order: &Order) -> Result<Vec<u8>, ClientError> {
    serve::ask(&service(), &order.line())
}

/// Answers questions until dropped; metrics too, if there is an address for them.
pub(super) fn serve(
    control_client: &ControlClient,
    metrics: Option<SocketAddr>,
    condition: &Condition,
    surroundings: Surroundings,
) -> Result<Vec<Server>, ServeError> {
    let (asks, stands) = (control_client.clone(), condition.clone());
    let mut recordings = Recordings::default();
    let answer = move |line: &str| {
        if let Some(order) = Order::parse(line) {
            return Some(recordings.begin(&asks, order));
        }
        if let Some(turn) = switch::parse(line) {
            return switch::answer(&asks, &stands.diversion, turn).map(String::into_bytes);
        }
        if let Some(inquiry) = Inquiry::parse(line) {
            let facts = why::facts(&asks, &stands, &surroundings, inquiry).ok()?;
            return Some(facts.to_string().into_bytes());
        }
        answer(&asks, &stands, line)
    };
    let mut servers = vec![Server::for_operators(&service(), answer)?];
    if let Some(address) = metrics {
        let (asks, stands) = (control_client.clone(), condition.clone());
        let metrics = move || {
            let snapshot = asks.ask(Question::Report).ok()?;
            Some(prometheus::text(&snapshot.totals, &snapshot.transfers, &stands))
        };
        servers.push(Server::metrics(address, metrics)?);
        tracing::info!("metrics at http://{address}/metrics");
    }
    Ok(servers)
}

/// Recordings that are under way.
#[derive(Default)]
struct Recordings(Vec<JoinHandle<()>>);

impl Recordings {
    fn begin(&mut self, control_client: &ControlClient, order: Order) -> Vec<u8> {
        self.0.retain(|thread| !thread.is_finished());
        let (answer, thread) = record::serve(control_client, &service(), order);
        self.0.extend(thread);
        answer.into_bytes()
    }
}

impl Drop for Recordings {
    /// They end with the loop, and complete their files, unless their writer stands still.
    fn drop(&mut self) {
        let end = Instant::now() + PARTING;
        while self.0.iter().any(|thread| !thread.is_finished()) && Instant::now() < end {
            thread::sleep(LOOK);
        }
    }
}

/// None for a question that there is not, and where the loop does not answer.
fn answer(control_client: &ControlClient, condition: &Condition, line: &str) -> Option<Vec<u8>> {
    let (topic, json) = [false, true]
        .into_iter()
        .flat_map(|json| Topic::ALL.map(|topic| (topic, json)))
        .find(|(topic, json)| topic.line(*json) == line)?;
    let question = match topic {
        Topic::Flows => Question::Flows,
        Topic::Unsplit => Question::Unsplit,
        Topic::Findings => Question::Totals,
        Topic::Status if !json => Question::Flows,
        Topic::Status => Question::Status,
        Topic::Report | Topic::ReportPage => Question::Report,
    };
    let mut snapshot = control_client.ask(question).ok()?;
    let now = snapshot.totals.uptime;
    let (observes, trial_left) = (snapshot.totals.observes, snapshot.totals.trial_left);
    let crossed = snapshot.totals.crossed;
    let benefit = Benefit { uptime: now, transfers: &snapshot.transfers };
    let report = Report { totals: snapshot.totals };
    let text = match (topic, json) {
        (Topic::Unsplit, false) => flows::unsplit_table(&mut snapshot.unsplit, now),
        (Topic::Unsplit, true) => flows::unsplit_json(&snapshot.unsplit, now).to_string() + "\n",
        (Topic::Report, false) => benefit::text(&benefit),
        (Topic::Report, true) => benefit::json(&benefit).to_string() + "\n",
        (Topic::ReportPage, _) => benefit::page(&benefit),
        (Topic::Findings, _) => check::of_running(&condition.diversion, observes),
        (Topic::Flows, false) => flows::table(&mut snapshot.flows),
        (Topic::Flows, true) => return flows::json(&snapshot.flows).ok(),
        (Topic::Status, true) => {
            let mut status = report.status_json();
            condition.add_to(&mut status, observes);
            passed::add(&crossed, &snapshot.passed_prefixes, &mut status);
            status["trial_left_s"] = json!(trial_left.map(|left| left.as_secs_f64()));
            status.to_string() + "\n"
        }
        (Topic::Status, false) => {
            diversion::lines(&condition.diversion, observes)
                + &hints::lines(&snapshot.flows)
                + &report.status()
                + &passed::lines(&crossed, &snapshot.passed_prefixes)
                + &condition.words()
                + &switch::words(trial_left)
        }
    };
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use super::harmless;

    #[test]
    fn an_answer_steers_no_terminal() {
        assert_eq!(harmless("a\tb\n\x1b]0;x\x07\x1b[2Jc\u{9b}1m é"), "a\tb\n]0;x[2Jc1m é");
    }
}
