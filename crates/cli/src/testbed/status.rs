//! `bentpipe testbed status`.

use super::{Error, named};
use bentpipe_testbed::network::{self, Folder, NetworkError, State};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::io::{self, Write};
use std::process::ExitCode;

/// Shows each testbed that is up, or one: its hosts with their addresses, its links and its
/// processes.
///
/// The exit code is 0 if all that is shown is whole.
#[derive(clap::Args)]
#[command(after_long_help = "\
Examples:
  bentpipe testbed status
  bentpipe testbed status my --json | jq '.[].nodes[].address'
")]
pub(super) struct Arguments {
    /// The testbed's name or file; all of them without it
    #[arg(value_name = "NAME")]
    testbed: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Shows it.
pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Error> {
    let names: Vec<String> = match &arguments.testbed {
        Some(asked) => {
            let name = named(Some(asked))?;
            if !network::names()?.contains(&name) {
                return Err(NetworkError::NotUp(name).into());
            }
            vec![name]
        }
        None => network::names()?.into_iter().collect(),
    };
    let mut whole = true;
    let (mut values, mut text) = (Vec::new(), String::new());
    for name in &names {
        let Ok(state) = Folder::of(name)?.state(name) else {
            whole = false;
            values.push(json!({ "testbed": name, "missing": ["its state"] }));
            _ = writeln!(
                text,
                "{name}: killed; `bentpipe testbed down {name}` removes what is left"
            );
            continue;
        };
        whole &= state.missing().is_empty();
        values.push(value(&state));
        table(&mut text, &state);
    }
    let mut out = io::stdout().lock();
    if arguments.json {
        writeln!(out, "{:#}", Value::Array(values))?;
    } else if names.is_empty() {
        writeln!(out, "no testbed is up")?;
    } else {
        write!(out, "{text}")?;
    }
    Ok(if whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn value(state: &State) -> Value {
    let layout = &state.layout;
    let nodes: Vec<Value> = layout
        .nodes
        .iter()
        .map(|node| {
            json!({
                "name": node.name,
                "role": node.role,
                "address": node.address,
                "namespace": node.namespace,
            })
        })
        .collect();
    let links: Vec<Value> = layout
        .links
        .iter()
        .map(|link| {
            let ends = link.ends.each_ref().map(
                |(node, device)| json!({ "node": layout.nodes[*node].name, "device": device }),
            );
            json!({ "name": link.name, "ends": ends })
        })
        .collect();
    let processes: Vec<Value> = state
        .processes()
        .iter()
        .map(|what| {
            let daemon = state.daemon(what);
            let running = daemon.is_some_and(|daemon| daemon.process.is_alive());
            let pid = daemon.filter(|_| running).map(|daemon| daemon.process.pid);
            json!({ "process": what, "pid": pid, "running": running })
        })
        .collect();
    json!({
        "testbed": state.name,
        "file": state.file,
        "missing": state.missing(),
        "nodes": nodes,
        "links": links,
        "processes": processes,
    })
}

fn table(text: &mut String, state: &State) {
    let layout = &state.layout;
    let missing = state.missing();
    let how = if missing.is_empty() { "up".to_owned() } else { missing.join(", ") + ": missing" };
    _ = writeln!(text, "{} ({}): {how}", state.name, state.file);
    for node in &layout.nodes {
        let role = format!("{:?}", node.role).to_lowercase();
        _ = writeln!(
            text,
            "  {role:8} {:16} {:12} namespace {}",
            node.name, node.address, node.namespace
        );
    }
    for link in &layout.links {
        let [a, b] = link.ends.each_ref().map(|(node, device)| (&layout.nodes[*node].name, device));
        _ = writeln!(text, "  link     {:16} {} ({}) – {} ({})", link.name, a.0, a.1, b.0, b.1);
    }
    for what in state.processes() {
        let daemon = state.daemon(&what).filter(|daemon| daemon.process.is_alive());
        let pid = daemon.map_or("ended".to_owned(), |daemon| format!("pid {}", daemon.process.pid));
        _ = writeln!(text, "  process  {what:16} {pid}");
    }
}
