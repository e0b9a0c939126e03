//! Rules of policy routing (ip-rule(8)) that would not hold for what comes through us.
//!
//! What we write in a host's stead comes in from our device and without a mark. A rule that names
//! the host's interface, or a mark that the firewall gives to what comes in there, chooses a table
//! for the host's packets and not for ours: they leave by another link, which may cost more or be
//! seen by others. We ourselves choose packets by the main table.

use super::DivertConfig;
use super::finding::Finding;
use super::links::list;
use crate::command::run;
use serde_json::Value;

/// The rules of both families, with the option of `ip` for each.
#[derive(Debug, Clone, Default)]
pub(super) struct Policies(Vec<(&'static str, Value)>);

impl Policies {
    /// As they are now.
    pub(super) fn read() -> Policies {
        let mut rules = Vec::new();
        for family in ["-4", "-6"] {
            let shown = run("ip", &["-j", "-N", family, "rule", "show"], "").unwrap_or_default();
            rules.extend(list(&shown).into_iter().map(|rule| (family, rule)));
        }
        Policies(rules)
    }

    /// Whether any rule of somebody else's asks for a mark.
    pub(super) fn ask_for_marks(&self, config: &DivertConfig) -> bool {
        self.foreign(config).any(|(_, rule)| mark(rule).is_some())
    }

    /// What of it is in our way. `marks`: those that packets bear when they are routed, of a host and
    /// of what we write in its stead.
    pub(super) fn inspect(&self, config: &DivertConfig, marks: &[[u32; 2]]) -> Vec<Finding> {
        let mut findings = Vec::new();
        let (mut named, mut twins) = (Vec::new(), Vec::new());
        let (mut ours, mut apart) = (Vec::new(), Vec::new());
        for (family, rule) in self.foreign(config) {
            if let Some(tun) = self.device_without_twin(config, family, rule) {
                named.push(in_words(rule));
                twins.push(twin(family, rule, tun));
            } else if let Some((value, mask)) = mark(rule) {
                let holds = |mark: u32| mark & mask == value;
                if value & config.mark_mask != 0 {
                    ours.push(in_words(rule));
                } else if marks.iter().any(|[host, written]| holds(*host) != holds(*written)) {
                    apart.push(in_words(rule));
                }
            }
        }
        for list in [&mut named, &mut twins, &mut ours, &mut apart] {
            list.dedup();
        }
        if !named.is_empty() {
            let remedy = twins.join(" && ");
            findings.push(Finding::PolicyRouting { rules: named, remedy, is_command: true });
        }
        if !ours.is_empty() {
            let remedy = format!(
                "choose other marks there or here: the bits {:#x} are ours",
                config.mark_mask
            );
            findings.push(Finding::PolicyRouting { rules: ours, remedy, is_command: false });
        }
        if !apart.is_empty() {
            let pairs: Vec<String> = config
                .sides
                .iter()
                .map(|side| format!("{} as to that of {}", side.tun, side.interfaces.join(", ")))
                .collect();
            let remedy = format!(
                "let the firewall give the same marks to what comes in from {}",
                pairs.join(", and from ")
            );
            findings.push(Finding::PolicyRouting { rules: apart, remedy, is_command: false });
        }
        findings
    }

    /// Rules that lead to a table, but for the kernel's and our own.
    fn foreign<'a>(
        &'a self,
        config: &'a DivertConfig,
    ) -> impl Iterator<Item = (&'static str, &'a Value)> {
        const LOCAL: &str = "255";
        self.0.iter().map(|(family, rule)| (*family, rule)).filter(|(_, rule)| {
            let table = rule["table"].as_str().unwrap_or("");
            !table.is_empty()
                && table != LOCAL
                && !config.route_tables.iter().any(|own| own.to_string() == table)
        })
    }

    /// Our device of the side whose interface the rule names, if no such rule names the device too.
    /// Rules in front of ours take packets past us: they hold.
    fn device_without_twin<'a>(
        &self,
        config: &'a DivertConfig,
        family: &str,
        rule: &Value,
    ) -> Option<&'a str> {
        let interface = rule["iif"].as_str()?;
        if rule["priority"].as_u64()? < u64::from(config.rule_priority) {
            return None;
        }
        let mut sides = config.sides.iter();
        let side = sides.find(|side| side.interfaces.iter().any(|name| name == interface))?;
        let is_twin = |(of, other): &(&str, Value)| {
            let mut same = rule.clone();
            same["iif"] = side.tun.clone().into();
            same["priority"] = other["priority"].clone();
            let mut other = other.clone();
            for rule in [&mut same, &mut other] {
                if let Some(rule) = rule.as_object_mut() {
                    rule.remove("iif_detached");
                }
            }
            *of == family && same == other
        };
        (!self.0.iter().any(is_twin)).then_some(side.tun.as_str())
    }
}

/// The mark that a rule asks for, and its mask.
fn mark(rule: &Value) -> Option<(u32, u32)> {
    let number = |key: &str| {
        let text = rule[key].as_str()?;
        match text.strip_prefix("0x") {
            Some(hex) => u32::from_str_radix(hex, 16).ok(),
            None => text.parse().ok(),
        }
    };
    Some((number("fwmark")?, number("fwmask").unwrap_or(u32::MAX)))
}

/// What a rule selects, in the words of `ip rule`.
fn selector(rule: &Value) -> String {
    let word = |key: &str| rule[key].as_str();
    let mut words = Vec::new();
    if !rule["not"].is_null() || rule.get("not").is_some() {
        words.push("not".to_owned());
    }
    for (key, name, length) in [("src", "from", "srclen"), ("dst", "to", "dstlen")] {
        if let Some(address) = word(key) {
            let length = rule[length].as_u64().map_or(String::new(), |length| format!("/{length}"));
            words.push(format!("{name} {address}{length}"));
        }
    }
    if let Some(mark) = word("fwmark") {
        words.push(format!(
            "fwmark {mark}{}",
            word("fwmask").map_or(String::new(), |it| format!("/{it}"))
        ));
    }
    for key in ["iif", "oif"] {
        words.extend(word(key).map(|name| format!("{key} {name}")));
    }
    words.join(" ")
}

fn in_words(rule: &Value) -> String {
    let table = rule["table"].as_str().unwrap_or("");
    format!("{}: {} lookup {table}", rule["priority"], selector(rule))
}

/// The command that adds the same rule for `tun`.
fn twin(family: &str, rule: &Value, tun: &str) -> String {
    let mut same = rule.clone();
    same["iif"] = tun.into();
    let family = if family == "-6" { " -6" } else { "" };
    let (selector, table) = (selector(&same), rule["table"].as_str().unwrap_or(""));
    format!("ip{family} rule add {selector} lookup {table} priority {}", rule["priority"])
}

#[cfg(test)]
mod tests {
    use super::super::Side;
    use super::*;
    use serde_json::json;

    fn config() -> DivertConfig {
        let side = |interface: &str, tun: &str| Side {
            interfaces: vec![interface.into()],
            tun: tun.into(),
        };
        DivertConfig::tcp([side("lan", "bp-lan"), side("sat", "bp-sat")])
    }

    fn inspect(rules: &[Value], marks: &[[u32; 2]]) -> Vec<String> {
        let rules = rules.iter().map(|rule| ("-4", rule.clone())).collect();
        let found = Policies(rules).inspect(&config(), marks);
        assert!(found.iter().all(Finding::forbids_diversion));
        found.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_rule_by_interface_is_told_until_it_holds_for_our_device() {
        let rule = |interface: &str| json!({ "priority": 1000, "src": "10.0.0.0", "srclen": 8, "iif": interface, "table": "5" });
        let found = inspect(&[rule("lan")], &[]);
        assert_eq!(
            found,
            ["policy routing would not hold for what comes through us: ip rule 1000: from \
              10.0.0.0/8 iif lan lookup 5; nothing is split until you run: ip rule add from \
              10.0.0.0/8 iif bp-lan lookup 5 priority 1000"]
        );
        assert_eq!(inspect(&[rule("lan"), rule("bp-lan")], &[]), [""; 0]);
        assert_eq!(inspect(&[rule("dmz")], &[]), [""; 0]);
        // In front of ours it takes packets past us, and holds.
        let mut first = rule("lan");
        first["priority"] = 100.into();
        assert_eq!(inspect(&[first], &[]), [""; 0]);
    }

    #[test]
    fn a_rule_by_a_mark_is_told_where_the_mark_tells_apart() {
        let mwan3 = json!({ "priority": 2002, "src": "all", "fwmark": "0x200", "fwmask": "0x3f00", "table": "5" });
        let found = inspect(std::slice::from_ref(&mwan3), &[[0x200, 0]]);
        assert!(
            found[0].contains("fwmark 0x200/0x3f00") && found[0].contains("bp-lan"),
            "{found:?}"
        );
        assert_eq!(inspect(std::slice::from_ref(&mwan3), &[[0x200, 0x200], [0, 0]]), [""; 0]);
        // wg-quick's, which holds for both.
        let wireguard = json!({ "priority": 32764, "not": null, "src": "all", "fwmark": "0xca6c", "table": "51820" });
        assert_eq!(inspect(&[wireguard], &[[0, 0]]), [""; 0]);
        let ours = json!({ "priority": 9, "src": "all", "fwmark": "0x20000000", "fwmask": "0x30000000", "table": "7" });
        let found = inspect(&[ours], &[[0, 0]]);
        assert!(found[0].contains("the bits 0x30000000 are ours"), "{found:?}");
    }

    #[test]
    fn the_kernels_rules_and_our_own_are_none() {
        let rules = [
            json!({ "priority": 0, "src": "all", "table": "255" }),
            json!({ "priority": 252, "src": "all", "fwmark": "0x10000000", "fwmask": "0x30000000", "iif": "lan", "table": "25200" }),
            json!({ "priority": 1000, "src": "all", "l3mdev": null }),
            json!({ "priority": 32766, "src": "all", "table": "254" }),
        ];
        assert_eq!(inspect(&rules, &[[1, 2]]), [""; 0]);
    }
}
