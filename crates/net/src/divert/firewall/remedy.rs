//! Rules that let through what a firewall drops of connections that come through us, and nothing else.
//!
//! What comes out of our devices has crossed the same chain on its way in, so to accept it opens nothing.
//! What is let in is what the firewall lets through without us, under the same conditions.

use super::super::DivertConfig;
use super::blame::Dropped;
use super::trial::Assumption;
use super::{ChainName, Program};
use std::collections::BTreeSet;

/// Ways by which the firewall lets a connection through, at most, that a remedy repeats.
const MAX_WAYS: usize = 6;

/// A leg that is dropped.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Fault {
    pub(super) leg: (String, String),
    /// Into our device.
    pub(super) is_into: bool,
    pub(super) ipv6: bool,
    /// Also a connection's first packet.
    pub(super) new: bool,
    /// What the firewall asks for on the direct way.
    pub(super) ways: Vec<Vec<Assumption>>,
}

#[derive(Debug, Default)]
pub(super) struct Faults(pub(super) BTreeSet<Fault>);

impl Faults {
    /// With the commands that let these legs through.
    pub(super) fn into_dropped(self, chain: ChainName, config: &DivertConfig) -> Dropped {
        let mut legs: Vec<(String, String)> = Vec::new();
        for fault in &self.0 {
            if !legs.contains(&fault.leg) {
                legs.push(fault.leg.clone());
            }
        }
        let tuns = config.sides.each_ref().map(|side| side.tun.as_str());
        let mut remedy = Vec::new();
        if self.0.iter().any(|fault| !fault.is_into) {
            remedy.extend(insert(&chain, Interfaces { into: &tuns, out: &[] }, "", &[]));
        }
        let mut is_broad = false;
        for (device, conditions) in self.entries(&chain, &mut is_broad) {
            let interfaces: Vec<&str> = device.interfaces.iter().map(String::as_str).collect();
            let interfaces = Interfaces { into: &interfaces, out: &[&device.tun] };
            remedy.extend(insert(&chain, interfaces, device.state, &conditions));
        }
        Dropped { chain, legs, remedy, is_broad }
    }

    /// What is to be let into our devices: by device, from which interfaces, in which state, and
    /// under which conditions.
    fn entries(&self, chain: &ChainName, is_broad: &mut bool) -> Vec<(Entry, Vec<String>)> {
        let mut entries: Vec<(Entry, Vec<String>)> = Vec::new();
        let into = || self.0.iter().filter(|fault| fault.is_into);
        for fault in into() {
            let (from, tun) = &fault.leg;
            // What lets a connection's first packet in lets in all that follow.
            let first = into().any(|it| it.leg == fault.leg && it.new && it.ipv6 == fault.ipv6);
            if first && !fault.new {
                continue;
            }
            let state = if fault.new { "" } else { ESTABLISHED };
            let families = into().filter(|it| it.leg == fault.leg && it.new == fault.new);
            let mut ways = BTreeSet::new();
            for it in families {
                match conditions(it, chain.program) {
                    Some(conditions) => ways.extend(conditions),
                    None => {
                        *is_broad = true;
                        ways.clear();
                        ways.insert(Vec::new());
                        break;
                    }
                }
            }
            // A way without conditions needs no other.
            if ways.contains(&Vec::new()) {
                ways.retain(Vec::is_empty);
            }
            for conditions in ways {
                let same = |(entry, of): &&mut (Entry, Vec<String>)| {
                    (&entry.tun, entry.state) == (tun, state) && *of == conditions
                };
                match entries.iter_mut().find(same) {
                    Some((entry, _)) if entry.interfaces.contains(from) => {}
                    Some((entry, _)) => entry.interfaces.push(from.clone()),
                    None => {
                        let interfaces = vec![from.clone()];
                        entries.push((Entry { interfaces, tun: tun.clone(), state }, conditions));
                    }
                }
            }
        }
        entries
    }
}

/// Packets that are to be let into a device.
struct Entry {
    interfaces: Vec<String>,
    tun: String,
    state: &'static str,
}

/// Of connections that there are.
const ESTABLISHED: &str = "established";

/// The conditions under which the direct way is free, in words of `program`: a row for each way. None
/// if they are too many, or not to be written.
fn conditions(fault: &Fault, program: Program) -> Option<BTreeSet<Vec<String>>> {
    if fault.ways.len() > MAX_WAYS {
        return None;
    }
    fault
        .ways
        .iter()
        .map(|way| way.iter().map(|assumption| in_words(assumption, program)).collect())
        .collect()
}

fn in_words((property, holds): &Assumption, program: Program) -> Option<String> {
    if !program.takes(property) {
        return None;
    }
    let text = &property.text;
    if *holds {
        return Some(text.clone());
    }
    if matches!(program, Program::Iptables(_)) {
        return Some(format!("! {text}"));
    }
    // "ip saddr 10.0.0.0/8": the operator stands before the last word, or before a set.
    let mut words = text.splitn(3, ' ');
    Some(format!("{} {} != {}", words.next()?, words.next()?, words.next()?))
}

/// Interfaces that a rule is to name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Interfaces<'a> {
    pub(super) into: &'a [&'a str],
    pub(super) out: &'a [&'a str],
}

/// Commands that insert rules which accept in front of all others in `chain`.
pub(super) fn insert(
    chain: &ChainName,
    interfaces: Interfaces<'_>,
    state: &str,
    conditions: &[String],
) -> Vec<String> {
    // Of several interfaces iptables takes a rule for each.
    let names = |names: &[&str]| -> Vec<Option<String>> {
        match chain.program {
            _ if names.is_empty() => vec![None],
            Program::Nft => vec![set(names)],
            Program::Iptables(_) => names.iter().map(|name| Some((*name).into())).collect(),
        }
    };
    let (into, out) = (names(interfaces.into), names(interfaces.out));
    let mut commands = Vec::new();
    for from in &into {
        for to in &out {
            commands.push(command(chain, from.as_deref(), to.as_deref(), state, conditions));
        }
    }
    commands
}

fn command(
    chain: &ChainName,
    from: Option<&str>,
    to: Option<&str>,
    state: &str,
    conditions: &[String],
) -> String {
    let mut words = Vec::new();
    if let Program::Iptables(program) = chain.program {
        let table =
            if chain.table == "filter" { String::new() } else { format!("-t {} ", chain.table) };
        words.extend(from.map(|from| format!("-i {from}")));
        words.extend(to.map(|to| format!("-o {to}")));
        words.extend((!conditions.is_empty()).then(|| "-p tcp".into()));
        words.extend(
            (!state.is_empty()).then(|| "-m conntrack --ctstate RELATED,ESTABLISHED".into()),
        );
        words.extend(conditions.iter().cloned());
        return format!("{program} {table}-I {} {} -j ACCEPT", chain.chain, words.join(" "));
    }
    words.extend(from.map(|from| format!("iifname {from}")));
    words.extend(to.map(|to| format!("oifname {to}")));
    words.extend((!state.is_empty()).then(|| "ct state established,related".into()));
    words.extend(conditions.iter().cloned());
    format!("nft insert rule {chain} '{} accept'", words.join(" "))
}

/// Names in nft's language: one, or a set; none for none.
fn set(names: &[&str]) -> Option<String> {
    let quoted: Vec<String> = names.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.as_slice() {
        [] => None,
        [one] => Some(one.clone()),
        _ => Some(format!("{{ {} }}", quoted.join(", "))),
    }
}
