//! By which interface the kernel would send a connection's packets, and which rule of policy
//! routing says so.
//!
//! Asked of `ip`: what a firewall's marks change is asked for each mark that a rule knows, as
//! nobody but the firewall can say which packets it marks.

use bentpipe_gateway::policy::Network;
use bentpipe_linux::command::{CommandError, run};
use bentpipe_linux::surroundings::list;
use serde_json::{Map, Value};
use std::net::IpAddr;

/// Marks that are asked for, at most.
const MARKS: usize = 16;

/// Packets that come in here and are routed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteQuery {
    /// The interface by which they come; None: this host sends them.
    pub by: Option<String>,
    /// Their source, if that is said.
    pub from: Option<IpAddr>,
    /// Their destination.
    pub to: IpAddr,
    /// The TCP ports that are known of them, as `ip route get` names them: `sport` and `dport`.
    pub ports: Option<(&'static str, u16)>,
}

/// Where they would go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The interfaces by which they leave, several if the route has several next hops; or why they
    /// do not.
    pub devices: Result<Vec<String>, Unrouted>,
    /// The routing table that says so, if that is not the main one.
    pub table: Option<String>,
    /// The rule that leads there, as `ip rule` has it, if another one than those that every kernel
    /// has.
    pub rule: Option<String>,
}

/// Why packets do not leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unrouted {
    /// They are for this host.
    Local,
    /// The kernel does not forward them.
    No(&'static str),
    /// It could not be asked.
    Unknown(String),
}

/// All of their routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Routes {
    /// Without a mark.
    pub unmarked: Route,
    /// With one, for each mark by which they go elsewhere.
    pub by_mark: Vec<(String, Route)>,
}

impl RouteQuery {
    /// Where they go without a mark.
    pub fn unmarked(&self) -> Route {
        self.look_up(&self.rules(), None)
    }

    /// Where they go without a mark, and with each that a rule knows.
    pub fn routes(&self) -> Routes {
        let rules = self.rules();
        let mut marks: Vec<&str> = rules.iter().filter_map(|it| it["fwmark"].as_str()).collect();
        marks.sort_unstable();
        marks.dedup();
        let unmarked = self.look_up(&rules, None);
        let marked = marks.into_iter().take(MARKS).map(|it| (it, self.look_up(&rules, Some(it))));
        let elsewhere = marked.filter(|(_, route)| route.devices != unmarked.devices);
        let by_mark = elsewhere.map(|(mark, route)| (mark.to_owned(), route)).collect();
        Routes { unmarked, by_mark }
    }

    fn family(&self) -> &'static str {
        if self.to.is_ipv4() { "-4" } else { "-6" }
    }

    fn rules(&self) -> Vec<Value> {
        list(&run("ip", &["-j", self.family(), "rule", "show"], "").unwrap_or_default())
    }

    fn look_up(&self, rules: &[Value], mark: Option<&str>) -> Route {
        let mut words: Vec<String> =
            ["-j", self.family(), "route", "get", "fibmatch"].map(str::to_owned).to_vec();
        words.push(self.to.to_string());
        let mut add = |key: &str, value: Option<String>| {
            words.extend(value.into_iter().flat_map(|value| [key.to_owned(), value]));
        };
        add("from", self.from.map(|from| from.to_string()));
        add("iif", self.by.clone());
        add("mark", mark.map(str::to_owned));
        if let Some((which, port)) = self.ports {
            add("ipproto", Some("tcp".to_owned()));
            add(which, Some(port.to_string()));
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let answer = match run("ip", &words, "") {
            Ok(answer) => answer,
            Err(error) => return Route { devices: Err(unrouted(&error)), table: None, rule: None },
        };
        let route = list(&answer).into_iter().next().unwrap_or_default();
        let table = route["table"].as_str().filter(|table| *table != "main").map(str::to_owned);
        let leads = rules.iter().filter_map(Value::as_object);
        let rule = leads.into_iter().find(|rule| self.is_led_by(rule, mark, table.as_deref()));
        let rule = rule.filter(|rule| is_of_this_host(rule)).map(in_words);
        let hops = route["nexthops"].as_array().into_iter().flatten();
        let mut devices: Vec<String> =
            hops.chain([&route]).filter_map(|hop| hop["dev"].as_str()).map(str::to_owned).collect();
        devices.sort();
        devices.dedup();
        let devices = match route["type"].as_str() {
            Some("local") => Err(Unrouted::Local),
            _ if devices.is_empty() => Err(Unrouted::No("there is no route")),
            _ => Ok(devices),
        };
        Route { devices, table, rule }
    }

    /// Whether a rule leads packets like these to a table. One that says what is not understood
    /// here is none that does.
    fn is_led_by(
        &self,
        rule: &Map<String, Value>,
        mark: Option<&str>,
        table: Option<&str>,
    ) -> bool {
        const UNDERSTOOD: [&str; 10] = [
            "priority", "src", "srclen", "dst", "dstlen", "iif", "fwmark", "fwmask", "table",
            "protocol",
        ];
        let of = |key: &str| rule.get(key).and_then(Value::as_str);
        let has = |address: Option<IpAddr>, network: &str, length: &str| match of(network) {
            None | Some("all") => true,
            Some(network) => {
                let length = rule.get(length).and_then(Value::as_u64);
                let text = length.map_or(network.to_owned(), |it| format!("{network}/{it}"));
                let network: Option<Network> = text.parse().ok();
                network.zip(address).is_some_and(|(network, address)| network.contains(address))
            }
        };
        rule.keys().all(|key| UNDERSTOOD.contains(&key.as_str()))
            && of("table") == Some(table.unwrap_or("main"))
            && has(self.from, "src", "srclen")
            && has(Some(self.to), "dst", "dstlen")
            && of("iif").is_none_or(|name| self.by.as_deref() == Some(name))
            && of("fwmark").is_none_or(|it| mark == Some(it))
    }
}

/// What `ip` says where it has no route to show.
fn unrouted(error: &CommandError) -> Unrouted {
    let CommandError::Failed { message, .. } = error else {
        return Unrouted::Unknown(error.to_string());
    };
    match message.strip_prefix("RTNETLINK answers: ") {
        Some("Network is unreachable") => Unrouted::No("there is no route"),
        Some("No route to host") => Unrouted::No("its route says `unreachable`"),
        Some("Permission denied") => Unrouted::No("its route says `prohibit`"),
        Some("Invalid cross-device link") => {
            Unrouted::No("the filter of reverse paths (`rp_filter`) drops them")
        }
        Some("Invalid argument") => Unrouted::No(
            "the kernel drops them: a blackhole, a source that is its own or not to be believed, or an interface that is down",
        ),
        _ => Unrouted::Unknown(message.clone()),
    }
}

/// Whether it is none of those that every kernel has.
fn is_of_this_host(rule: &Map<String, Value>) -> bool {
    !matches!(rule.get("priority").and_then(Value::as_u64), Some(0 | 32766 | 32767))
}

/// As `ip rule` writes it.
fn in_words(rule: &Map<String, Value>) -> String {
    let text = |key: &str| rule.get(key).and_then(Value::as_str);
    let number = |key: &str| rule.get(key).and_then(Value::as_u64);
    let mut words = format!("{}:", number("priority").unwrap_or_default());
    for (word, key, length) in [("from", "src", "srclen"), ("to", "dst", "dstlen")] {
        if let Some(address) = text(key) {
            words += &format!(" {word} {address}");
            words += &number(length).map_or_else(String::new, |length| format!("/{length}"));
        }
    }
    if let Some(mark) = text("fwmark") {
        words += &format!(" fwmark {mark}");
        words += &text("fwmask").map_or_else(String::new, |mask| format!("/{mask}"));
    }
    words += &text("iif").map_or_else(String::new, |name| format!(" iif {name}"));
    words + &format!(" lookup {}", text("table").unwrap_or("main"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_rule_that_leads_to_a_table_is_found() {
        let query = RouteQuery {
            by: Some("lan".into()),
            from: Some("10.1.0.7".parse().unwrap()),
            to: "192.0.2.1".parse().unwrap(),
            ports: Some(("dport", 443)),
        };
        let rule = |more: Value| {
            let mut rule = json!({ "priority": 1000, "src": "all", "table": "5" });
            let more = more.as_object().cloned().unwrap_or_default();
            rule.as_object_mut().unwrap().extend(more);
            rule.as_object().unwrap().clone()
        };
        let leads = |more: Value, mark| query.is_led_by(&rule(more), mark, Some("5"));
        for (more, leads_it) in [
            (json!({ "src": "10.1.0.0", "srclen": 24 }), true),
            (json!({ "src": "10.1.0.7" }), true),
            (json!({ "src": "10.2.0.0", "srclen": 24 }), false),
            (json!({ "dst": "192.0.2.0", "dstlen": 24 }), true),
            (json!({ "dst": "fd00::", "dstlen": 8 }), false),
            (json!({ "iif": "lan" }), true),
            (json!({ "iif": "guest" }), false),
            (json!({ "table": "6" }), false),
            (json!({ "not": null, "fwmark": "0xca6c" }), false),
            (json!({ "suppress_prefixlen": 0 }), false),
        ] {
            assert_eq!(leads(more.clone(), None), leads_it, "{more}");
        }
        let marked = json!({ "fwmark": "0x200", "fwmask": "0x3f00" });
        assert!(!leads(marked.clone(), None) && leads(marked.clone(), Some("0x200")));
        let of_network = rule(json!({ "src": "10.1.0.0", "srclen": 24 }));
        assert_eq!(in_words(&of_network), "1000: from 10.1.0.0/24 lookup 5");
        assert_eq!(in_words(&rule(marked)), "1000: from all fwmark 0x200/0x3f00 lookup 5");
    }

    #[test]
    fn what_the_kernel_says_is_told_from_what_keeps_it_from_being_asked() {
        let failed = |message: &str| {
            let message = message.to_owned();
            unrouted(&CommandError::Failed { command: "ip".into(), message })
        };
        assert_eq!(
            failed("RTNETLINK answers: Network is unreachable"),
            Unrouted::No("there is no route")
        );
        assert!(matches!(failed("ip: unrecognized option: j"), Unrouted::Unknown(_)));
        let missing = CommandError::Missing { program: "ip", package: "iproute2" };
        assert!(matches!(unrouted(&missing), Unrouted::Unknown(_)));
    }
}
