//! The reference of the file format, from the very declarations by which files are read.

use crate::scenario::SCENARIO;
use crate::{
    copies, fault, figure, flow, group, link, middlebox, node, range, record, repeat, run, sweep,
    variant, workload,
};
use bentpipe_config::gateway;
use bentpipe_config::reader::Section;
use std::fmt::Write;

/// The sections before those of a gateway.
const TOP: &[&Section] =
    &[&SCENARIO, &run::RUN, &repeat::REPEAT, &node::HOST, &node::ROUTER, &node::GATEWAY];

/// The sections between those of a link's directions and those of what is random.
const NETWORK: &[&Section] = &[
    &crate::orbit::GEO,
    &crate::orbit::WALKER,
    &crate::orbit::CONSTELLATION,
    &middlebox::MIDDLEBOX,
    &middlebox::ACK_SPACER,
    &middlebox::ACK_FILTER,
    &middlebox::ACK_DECIMATOR,
    &middlebox::SNOOP,
    &middlebox::SPOOF,
    &middlebox::WEB_CACHE,
    &middlebox::LIAR,
    &flow::FLOW,
    &workload::BULK,
    &workload::REQUEST_RESPONSE,
    &workload::HTTP,
    &workload::HTTP2,
    &crate::web::PAGE,
    &workload::TELNET,
    &workload::LOAD,
    &workload::WEB,
    &workload::POISSON,
    &workload::UDP,
    &workload::PING,
];

/// The sections of what is about the whole experiment.
const EXPERIMENT: &[&Section] = &[
    &group::GROUP,
    &fault::FAULT,
    &crate::control::CONTROL,
    &record::RECORD,
    &copies::COPIES,
    &copies::NUMBERS,
    &sweep::SWEEP,
    &variant::VARIANT,
    &range::RANGE,
    &figure::FIGURE,
    &figure::REFERENCE,
    &figure::PRINTED,
];

/// Every kind of table with its keys, in the order of the reference.
pub fn sections() -> impl Iterator<Item = &'static Section> {
    let first = [TOP, gateway::SECTIONS, &[&link::LINK]];
    let last = [NETWORK, bentpipe_links::RANDOM_SECTIONS, EXPERIMENT];
    let [first, last] = [first, last].map(|parts| parts.into_iter().flatten().copied());
    first.chain(bentpipe_links::sections()).chain(last)
}

/// The tables of a file whose inner tables are named by its author: `host`, `link` and so on.
pub fn tables_by_name() -> impl Iterator<Item = &'static str> {
    let named = SCENARIO.fields.iter().filter(|field| field.takes() == "tables by name");
    named.map(|field| field.key)
}

/// The reference as Markdown: `docs/scenario-format.md` from its second heading on.
pub fn markdown() -> String {
    let mut text = String::new();
    for section in sections() {
        let _ = writeln!(text, "## {}\n\n{}\n", code(section.path), section.about);
        if !section.fields.is_empty() {
            let _ = writeln!(text, "| key | takes | default | says |\n| --- | --- | --- | --- |");
            for field in section.fields {
                let (takes, about) = (cell(&field.takes()), cell(field.about));
                let default = cell(&field.default());
                let _ = writeln!(text, "| `{}` | {takes} | {default} | {about} |", field.key);
            }
            text.push('\n');
        }
        if !section.example.is_empty() {
            let _ = writeln!(text, "```toml\n{}\n```\n", section.example);
        }
    }
    text.push_str(&profiles());
    text
}

fn profiles() -> String {
    let mut text = String::from("## Profiles\n\n| name | rate | back | delay | back | what |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for profile in bentpipe_links::PROFILES {
        let (rate, back) = (profile.rate, profile.back_rate);
        let [delay, way] =
            [profile.delay, profile.back_delay].map(|delay| delay.as_secs_f64() * 1e3);
        let name = profile.name;
        let about = profile.about;
        let _ = writeln!(text, "| `{name}` | {rate} | {back} | {delay}ms | {way}ms | {about} |");
    }
    text
}

/// The path in code type where it is one.
fn code(path: &str) -> String {
    match path.split_once(", ") {
        Some((first, rest)) if first.contains('.') || first == "queue" => {
            format!("`{first}`, {rest}")
        }
        None if !path.contains(' ') => format!("`{path}`"),
        _ => path.to_owned(),
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
