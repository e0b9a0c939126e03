//! What a running gateway knows of a connection, as JSON: its flows, what it did not split lately,
//! and what its policy and its limits would make of it now.

use crate::command::condition::Condition;
use crate::command::inquiry::Inquiry;
use crate::command::{diversion, flows};
use crate::control::{AskError, Connection, ControlClient, Question};
use bentpipe_gateway::Prospect;
use bentpipe_linux::surroundings::Surroundings;
use serde_json::{Value, json};

/// The facts, `null` where a number is nobody's.
///
/// # Errors
/// Where the loop does not answer.
pub(in crate::command) fn facts(
    client: &ControlClient,
    condition: &Condition,
    surroundings: &Surroundings,
    inquiry: Inquiry,
) -> Result<Value, AskError> {
    Ok(match inquiry {
        Inquiry::Connection(connection) => {
            of_connection(client, condition, surroundings, connection)?
        }
        Inquiry::Flow(number) => {
            let flows = client.ask(Question::Flows)?.flows;
            flows.iter().find(|flow| flow.number == number).map_or(Value::Null, flows::flow)
        }
        Inquiry::Unsplit(number) => {
            let snapshot = client.ask(Question::Unsplit)?;
            let unsplit = snapshot.unsplit.iter().find(|it| it.number == number);
            unsplit.map_or(Value::Null, |it| flows::unsplit(it, snapshot.totals.uptime))
        }
    })
}

fn of_connection(
    client: &ControlClient,
    condition: &Condition,
    surroundings: &Surroundings,
    connection: Connection,
) -> Result<Value, AskError> {
    let snapshot = client.ask(Question::Why(connection))?;
    let mut before: Vec<_> =
        snapshot.unsplit.iter().filter(|unsplit| connection.was(unsplit)).collect();
    before.sort_by_key(|unsplit| std::cmp::Reverse(unsplit.at));
    let [lan, satellite] = surroundings.interfaces();
    let findings = condition.diversion.findings();
    let in_the_way = findings.iter().filter(|finding| finding.forbids_diversion());
    let prospect = snapshot.prospect.map(|Prospect { reason, rule, flows_of_client }| {
        json!({
            "reason": reason.map(bentpipe_gateway::Reason::name),
            "rule": rule.map(|(number, _)| number),
            "action": rule.map(|(_, action)| <&str>::from(action)),
            "flows_of_client": flows_of_client,
        })
    });
    Ok(json!({
        "interfaces": { "lan": lan, "satellite": satellite },
        "in_the_way": in_the_way.map(diversion::finding).collect::<Vec<_>>(),
        "observes": snapshot.totals.observes,
        "prospect": prospect,
        "flows": snapshot.flows.iter().map(flows::flow).collect::<Vec<_>>(),
        "before": before.iter().map(|it| flows::unsplit(it, snapshot.totals.uptime)).collect::<Vec<_>>(),
    }))
}
