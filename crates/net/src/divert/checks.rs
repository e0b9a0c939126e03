//! Checks of a host's firewall: what in it would catch diverted packets, and the remedy.
//!
//! It is read as `nft -j list ruleset` shows it, and in the words of iptables where that has made
//! tables. `firewall` judges it.

use super::DivertConfig;
pub use super::finding::Finding;
use super::firewall::blame::{self, Sides};
use super::firewall::{self, Firewall, Program, mentions_key, text};
use super::links::Links;
use super::settings::Settings;
use crate::command::run;
use serde_json::Value;
use std::fs;

/// The firewall of this host, as its programs show it.
#[derive(Debug, Clone, Default)]
pub(super) struct Shown {
    /// By `nft -j list ruleset`.
    pub(super) ruleset: String,
    /// By kinds of `iptables-save`.
    pub(super) saved: Vec<Saved>,
    /// Kinds of iptables whose tables are in use, and that are not there to show them.
    pub(super) unreadable: Vec<&'static str>,
}

/// What one `iptables-save` shows.
#[derive(Debug, Clone)]
pub(super) struct Saved {
    /// The program that changes it.
    pub(super) program: &'static str,
    pub(super) family: &'static str,
    pub(super) text: String,
}

/// Programs, their families, what shows their tables, and where the kernel lists the old ones.
const IPTABLES: [(&str, &str, &str, Option<&str>); 4] = [
    ("iptables-nft", "ip", "iptables-nft-save", None),
    ("ip6tables-nft", "ip6", "ip6tables-nft-save", None),
    ("iptables-legacy", "ip", "iptables-legacy-save", Some("ip_tables_names")),
    ("ip6tables-legacy", "ip6", "ip6tables-legacy-save", Some("ip6_tables_names")),
];

impl Shown {
    /// Asks the programs. `ruleset` is nft's.
    pub(super) fn ask(ruleset: String) -> Shown {
        let mut shown = Shown { ruleset, ..Shown::default() };
        let objects = firewall::parse_nft(&shown.ruleset);
        let tables = firewall::tables_of_iptables(&objects);
        for (program, family, save, names) in IPTABLES {
            let in_use = match names {
                // Once somebody has used one it is listed. The thread's: the process's may be
                // another network namespace.
                Some(names) => fs::read_to_string(format!("/proc/thread-self/net/{names}"))
                    .is_ok_and(|names| !names.trim().is_empty()),
                None => tables.iter().any(|(of, _)| *of == family),
            };
            if !in_use {
                continue;
            }
            match run(save, &[], "") {
                Ok(text) => shown.saved.push(Saved { program, family, text }),
                Err(_) if names.is_some() => shown.unreadable.push(program),
                // nft shows them, though not all matches.
                Err(_) => {}
            }
        }
        shown
    }

    /// All of it in one form, without our own table.
    pub(super) fn read(&self, own_table: &str) -> Firewall {
        let objects = firewall::parse_nft(&self.ruleset);
        let mut all = firewall::read_nft(&objects, own_table);
        for Saved { program, family, text } in &self.saved {
            all.extend(firewall::read_iptables(text, family, Program::Iptables(program)));
        }
        all
    }

    /// Whether anything in it needs connection tracking, our own table left aside. A rule that `nft`
    /// cannot show counts.
    pub(super) fn tracks_connections(&self, own_table: &str) -> bool {
        const TRACKING: [&str; 6] = ["ct", "masquerade", "snat", "dnat", "redirect", "xt"];
        const WORDS: [&str; 6] =
            ["-m conntrack", "-m state", "CONNMARK", "MASQUERADE", "NAT", "REDIRECT"];
        let objects = firewall::parse_nft(&self.ruleset);
        let mut rules = objects
            .iter()
            .filter_map(|object| object.get("rule"))
            .filter(|rule| text(rule, "table") != own_table);
        rules.any(|rule| mentions_key(&rule["expr"], &TRACKING))
            || self.saved.iter().any(|saved| {
                let mut rules = saved.text.lines().filter(|line| line.starts_with("-A "));
                rules.any(|rule| WORDS.iter().any(|word| rule.contains(word)))
            })
            // What is not known may be NAT.
            || !self.unreadable.is_empty()
    }

    /// What in it may be in the way of `config`. What cannot be read has no findings.
    pub(super) fn inspect(&self, config: &DivertConfig, sides: &Sides) -> Vec<Finding> {
        let firewall = self.read(&config.nft_table);
        let mut findings = Vec::new();
        for dropped in blame::dropped(&firewall, config, sides) {
            let hook = firewall.chains[&dropped.chain].base.map(|base| base.hook);
            findings.push(Finding::Firewall {
                chain: dropped.chain.to_string(),
                is_before_routing: hook == Some(firewall::Hook::Prerouting),
                legs: dropped.legs,
                remedy: dropped.remedy,
                is_broad: dropped.is_broad,
            });
        }
        for (chain, remedy) in blame::translated(&firewall, config, sides) {
            findings.push(Finding::SourceNat { chain: chain.to_string(), remedy });
        }
        let objects = firewall::parse_nft(&self.ruleset);
        findings.extend(flow_tables(&objects, config));
        let unreadable = self.unreadable.iter();
        findings.extend(unreadable.map(|program| Finding::LegacyRules { program }));
        findings
    }
}

/// What of a host is in the way of packets that are taken at the interfaces themselves, between those of the two sides of
/// `config`: what hands them on past the interfaces' programs, and what connections over a satellite need anyway.
pub(crate) fn around(config: &DivertConfig) -> Vec<Finding> {
    let mut findings = Links::read().inspect(config);
    findings.extend(Settings::read(config).inspect(config.selector));
    // Each interface stands for itself, in its own VRF and whatever way its answers go.
    findings.retain(|finding| {
        !matches!(finding, Finding::Vrfs { .. } | Finding::StrictReversePath { .. })
    });
    // Where there is no `nft`, nobody has made one.
    let shown = run("nft", &["list", "flowtables"], "").unwrap_or_default();
    let offloaded = offloaded(&shown);
    if !offloaded.is_empty() {
        let ruleset = run("nft", &["-j", "list", "ruleset"], "").unwrap_or_default();
        let tables = flow_tables(&firewall::parse_nft(&ruleset), config);
        findings.extend(tables.into_iter().filter(|finding| {
            matches!(finding, Finding::FlowTable { table, .. } if offloaded.contains(table))
        }));
    }
    findings
}

/// Flow tables that hardware works off, of what `nft list flowtables` shows, each with its family and table.
fn offloaded(shown: &str) -> Vec<String> {
    let (mut table, mut name, mut found) = ("", "", Vec::new());
    for line in shown.lines().map(str::trim) {
        let named = |kind: &str| line.strip_prefix(kind).and_then(|rest| rest.strip_suffix(" {"));
        if let Some(of) = named("table ") {
            table = of;
        } else if let Some(of) = named("flowtable ") {
            name = of;
        } else if line.starts_with("flags ") && line.contains("offload") {
            found.push(format!("{table} {name}"));
        }
    }
    found
}

/// Flow tables with a configured interface, and with a rule that fills them.
fn flow_tables(objects: &[Value], config: &DivertConfig) -> Vec<Finding> {
    let interfaces: Vec<&String> = config.sides.iter().flat_map(|side| &side.interfaces).collect();
    let rules = || objects.iter().filter_map(|object| object.get("rule"));
    let tables = objects.iter().filter_map(|object| object.get("flowtable"));
    tables
        .filter_map(|table| {
            let names = |key| (text(table, "family"), text(table, "table"), text(table, key));
            let (family, of, name) = names("name");
            let devices = [&table["dev"]].into_iter().flat_map(|dev| match dev {
                Value::Array(list) => list.iter().collect(),
                one => vec![one],
            });
            let mut devices = devices.filter_map(Value::as_str);
            if !devices.any(|device| interfaces.iter().any(|name| *name == device)) {
                return None;
            }
            let fills = |rule: &&Value| {
                (text(rule, "family"), text(rule, "table")) == (family, of)
                    && rule["expr"].as_array().into_iter().flatten().any(|statement| {
                        let flow = text(&statement["flow"], "flowtable");
                        flow.strip_prefix('@').unwrap_or(flow) == name && !flow.is_empty()
                    })
            };
            let remedy: Vec<String> = rules()
                .filter(fills)
                .map(|rule| {
                    let (chain, handle) = (text(rule, "chain"), &rule["handle"]);
                    format!("nft delete rule {family} {of} {chain} handle {handle}")
                })
                .collect();
            let table = format!("{family} {of} {name}");
            (!remedy.is_empty()).then_some(Finding::FlowTable { table, remedy })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::offloaded;

    #[test]
    fn flow_tables_of_hardware_are_told_from_others() {
        let shown = "table inet fw4 {\n\tflowtable ft {\n\t\thook ingress priority filter\n\t\tdevices = { lan, sat }\n\
                     \t\tflags offload\n\t\tcounter\n\t}\n}\ntable ip soft {\n\tflowtable f {\n\
                     \t\thook ingress priority filter\n\t\tdevices = { sat }\n\t}\n}\n";
        assert_eq!(offloaded(shown), ["inet fw4 ft"]);
        assert!(offloaded("").is_empty());
    }
}
