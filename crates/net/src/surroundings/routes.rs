//! By which interface the kernel would send a connection's packets, and which rule of policy routing says so.
//!
//! Asked of `ip`: what a firewall's marks change is asked for each mark that a rule knows, as nobody but the firewall can say
//! which packets it marks.

use super::links::list;
use crate::command::run;
use serde_json::Value;
use std::net::IpAddr;

/// Marks that are asked for, at most.
const MARKS: usize = 16;

/// A packet that comes in here and is routed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    /// The interface by which it comes; None: this host sends it.
    pub by: Option<String>,
    /// Its source, if that is said.
    pub from: Option<IpAddr>,
    /// Its destination.
    pub to: IpAddr,
    /// Its TCP port there.
    pub port: Option<u16>,
}

/// Where it would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Way {
    /// The interface by which it leaves, or why it does not.
    pub device: Result<String, String>,
    /// The routing table that says so, if that is not the main one.
    pub table: Option<String>,
    /// The rule that leads there, as `ip rule` has it, if another one than those that every kernel has.
    pub rule: Option<String>,
}

/// All of its ways.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ways {
    /// Without a mark.
    pub unmarked: Way,
    /// With one, for each mark by which it goes elsewhere.
    pub by_mark: Vec<(String, Way)>,
}

impl Asked {
    /// Where it goes, without a mark and with each that a rule knows.
    pub fn ways(&self) -> Ways {
        let rules = self.rules();
        let unmarked = self.way(&rules, None);
        let mut by_mark: Vec<(String, Way)> = Vec::new();
        let mut marks: Vec<&str> =
            rules.iter().filter_map(|rule| rule["fwmark"].as_str()).collect();
        marks.dedup();
        for mark in marks.into_iter().take(MARKS) {
            let other = self.way(&rules, Some(mark));
            if other.device != unmarked.device && by_mark.iter().all(|(known, _)| known != mark) {
                by_mark.push((mark.to_owned(), other));
            }
        }
        Ways { unmarked, by_mark }
    }

    fn family(&self) -> &'static str {
        if self.to.is_ipv4() { "-4" } else { "-6" }
    }

    fn rules(&self) -> Vec<Value> {
        list(&run("ip", &["-j", self.family(), "rule", "show"], "").unwrap_or_default())
    }

    fn way(&self, rules: &[Value], mark: Option<&str>) -> Way {
        let mut words: Vec<String> =
            ["-j", self.family(), "route", "get", "fibmatch"].map(str::to_owned).to_vec();
        words.push(self.to.to_string());
        let mut add = |key: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [key.to_owned(), value]));
        };
        add("from", self.from.map(|from| from.to_string()));
        add("iif", self.by.clone());
        add("mark", mark.map(str::to_owned));
        if let Some(port) = self.port {
            add("ipproto", Some("tcp".to_owned()));
            add("dport", Some(port.to_string()));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = match run("ip", &words, "") {
            Ok(answer) => answer,
            Err(error) => {
                // "`ip …` failed: RTNETLINK answers: Network is unreachable"
                let error = error.to_string();
                let why = error.rsplit(": ").next().unwrap_or(&error).to_owned();
                return Way { device: Err(why), table: None, rule: None };
            }
        };
        let route = list(&answer).into_iter().next().unwrap_or_default();
        let table = route["table"].as_str().filter(|table| *table != "main").map(str::to_owned);
        let rule = rules.iter().find(|rule| self.is_led_by(rule, mark, table.as_deref()));
        let rule = rule.filter(|rule| is_of_this_host(rule)).map(in_words);
        let device = route["dev"].as_str().or(route["nexthops"][0]["dev"].as_str());
        let device = match (route["type"].as_str(), device) {
            (Some("local"), _) => Err("it is an address of this host".to_owned()),
            (Some(kind), None) => Err(format!("the route says {kind}")),
            (None, None) => Err("there is no route".to_owned()),
            (_, Some(device)) => Ok(device.to_owned()),
        };
        Way { device, table, rule }
    }

    /// Whether a rule leads packets like this one to a table.
    fn is_led_by(&self, rule: &Value, mark: Option<&str>, table: Option<&str>) -> bool {
        let of = |key: &str| rule[key].as_str();
        let source = of("src").filter(|source| *source != "all");
        let in_prefix = |address: IpAddr, network: &str, length: u64| {
            network.parse().is_ok_and(|network| is_within(address, network, length))
        };
        let bits = if self.to.is_ipv4() { 32 } else { 128 };
        let length = |key: &str| rule[key].as_u64().unwrap_or(bits);
        of("table") == Some(table.unwrap_or("main"))
            && source.is_none_or(|network| {
                self.from.is_some_and(|from| in_prefix(from, network, length("srclen")))
            })
            && of("dst").is_none_or(|network| in_prefix(self.to, network, length("dstlen")))
            && of("iif").is_none_or(|name| self.by.as_deref() == Some(name))
            && of("fwmark").is_none_or(|it| mark == Some(it))
    }
}

/// Whether a network of so many leading bits has an address.
fn is_within(address: IpAddr, network: IpAddr, length: u64) -> bool {
    let length = u32::try_from(length).unwrap_or(u32::MAX);
    match (address, network) {
        (IpAddr::V4(address), IpAddr::V4(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.checked_shr(32_u32.saturating_sub(length)).unwrap_or(0) == 0
        }
        (IpAddr::V6(address), IpAddr::V6(network)) => {
            let differing = address.to_bits() ^ network.to_bits();
            differing.checked_shr(128_u32.saturating_sub(length)).unwrap_or(0) == 0
        }
        _ => false,
    }
}

/// Whether it is none of those that every kernel has.
fn is_of_this_host(rule: &Value) -> bool {
    !matches!(rule["priority"].as_u64(), Some(0 | 32766 | 32767))
}

/// As `ip rule` writes it.
fn in_words(rule: &Value) -> String {
    let mut words = format!("{}:", rule["priority"].as_u64().unwrap_or_default());
    let mut network = |word: &str, key: &str, length: &str| {
        if let Some(address) = rule[key].as_str() {
            words += &format!(" {word} {address}");
            if let Some(length) = rule[length].as_u64() {
                words += &format!("/{length}");
            }
        }
    };
    network("from", "src", "srclen");
    network("to", "dst", "dstlen");
    if let Some(mark) = rule["fwmark"].as_str() {
        words += &format!(" fwmark {mark}");
        if let Some(mask) = rule["fwmask"].as_str() {
            words += &format!("/{mask}");
        }
    }
    for key in ["iif", "oif"] {
        if let Some(name) = rule[key].as_str() {
            words += &format!(" {key} {name}");
        }
    }
    words + &format!(" lookup {}", rule["table"].as_str().unwrap_or("main"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asked() -> Asked {
        Asked {
            by: Some("lan".into()),
            from: Some("10.1.0.7".parse().unwrap()),
            to: "192.0.2.1".parse().unwrap(),
            port: Some(443),
        }
    }

    #[test]
    fn the_rule_that_leads_to_a_table_is_found() {
        let backup = json!({ "priority": 1000, "src": "10.1.0.0", "srclen": 24, "table": "5" });
        let others = json!({ "priority": 999, "src": "10.2.0.0", "srclen": 24, "table": "5" });
        let host = json!({ "priority": 998, "src": "10.1.0.7", "table": "5" });
        let marked = json!({ "priority": 997, "src": "all", "fwmark": "0x200", "fwmask": "0x3f00", "table": "5" });
        let by = json!({ "priority": 996, "src": "all", "iif": "guest", "table": "5" });
        let leads = |rule: &Value, mark| asked().is_led_by(rule, mark, Some("5"));
        assert!(leads(&backup, None) && leads(&host, None));
        assert!(!leads(&others, None) && !leads(&by, None));
        assert!(!leads(&marked, None) && leads(&marked, Some("0x200")));
        assert!(!asked().is_led_by(&backup, None, None));
        assert_eq!(in_words(&backup), "1000: from 10.1.0.0/24 lookup 5");
        assert_eq!(in_words(&marked), "997: from all fwmark 0x200/0x3f00 lookup 5");
    }

    #[test]
    fn networks_have_their_addresses() {
        for (address, network, length, within) in [
            ("10.1.2.3", "10.1.0.0", 16, true),
            ("10.2.2.3", "10.1.0.0", 16, false),
            ("10.2.2.3", "0.0.0.0", 0, true),
            ("10.2.2.3", "::", 0, false),
            ("fd00::7", "fd00::", 64, true),
            ("fd01::7", "fd00::", 64, false),
            ("fd01::7", "::", 0, true),
        ] {
            let [of, in_] = [address, network].map(|text| text.parse().unwrap());
            assert_eq!(is_within(of, in_, length), within, "{address} {network}/{length}");
        }
    }
}
