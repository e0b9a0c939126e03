//! Every workload against a closed form.

mod background;
mod barriers;
mod datagrams;
mod multiplexed;
mod pages;
mod requests;
mod scenarios;
mod stops;

use crate::support::{parsed, played};
use bentpipe_core::time::Duration;
use bentpipe_results::RunResults;
use bentpipe_scenario::Scenario;

/// Two hosts, `server` and `client`, a link `sat` between them, 250 ms each way, and what is added,
/// until the flows are done.
fn scenario(link: &str, rest: &str) -> Scenario {
    described("duration = \"1h\"\nuntil = \"flows-done\"", link, rest)
}

/// The same for so many seconds.
fn lasting(seconds: u64, link: &str, rest: &str) -> Scenario {
    described(&format!("duration = \"{seconds}s\""), link, rest)
}

fn described(run: &str, link: &str, rest: &str) -> Scenario {
    let text = format!(
        r#"
tcp = "linux"
[run]
{run}
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
delay = "250ms"
{link}
{rest}
"#
    );
    parsed(&text)
}

/// A flow `main` from `server` to `client`.
fn flow(keys: &str) -> String {
    format!("[flow.main]\nfrom = \"server\"\nto = \"client\"\n{keys}\n")
}

/// The outcome of one flow over a link without a rate.
fn alone(keys: &str) -> RunResults {
    played(&scenario("", &flow(keys)))
}

/// How long each of its transfers took.
fn times(outcome: &RunResults) -> Vec<Duration> {
    let took = |row: &bentpipe_results::TransferRow| {
        let transfer = row.transfer;
        transfer.completed.expect("it is complete").saturating_since(transfer.started)
    };
    outcome.transfers.iter().map(took).collect()
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
