//! What a scenario's links do besides what the core's do: frames, MTUs, impairments, shared media,
//! traces.

mod framing;
mod impairments;
mod medium;
mod mtu;
mod traces;

use crate::support::parsed;
use bentpipe_scenario::{Experiment, Scenario};

/// Two hosts, `server` and `client`, a link `sat` between them with these keys, and what is added.
fn scenario(run: &str, link: &str, rest: &str) -> Scenario {
    parsed(&text(run, link, rest))
}

fn text(run: &str, link: &str, rest: &str) -> String {
    format!(
        r#"
tcp = "linux"
[run]
{run}
[host.server]
[host.client]
[link.sat]
between = ["server", "client"]
{link}
{rest}
"#
    )
}

/// The same with a file beside it.
fn with_file(run: &str, link: &str, rest: &str, file: &str) -> Scenario {
    let read = |_: &str| Ok(file.to_owned());
    let text = text(run, link, rest);
    let experiment = Experiment::parse("test.toml", &text, &read);
    experiment.unwrap_or_else(|error| panic!("{error}\n{text}")).point(0).scenario
}

/// Datagrams of 1000 bytes at 8 Mbit/s, one a millisecond, from the server to the client.
const DATAGRAMS: &str = "[flow.main]\nfrom = \"server\"\nto = \"client\"\nworkload = \"udp\"\nrate = \"8Mbit/s\"\nbackground = false";
/// A transfer of 1 MB from the server to the client.
const TRANSFER: &str = "[flow.main]\nfrom = \"server\"\nto = \"client\"\nbytes = \"1MB\"";
const DONE: &str = "duration = \"10min\"\nuntil = \"flows-done\"";
