//! Start-up checks: what in a host's firewall would catch diverted packets, and the remedy.
//!
//! Functions over the output of `nft -j list ruleset` (libnftables-json(5)), which also shows what
//! `iptables-nft` has made.

use super::DivertConfig;
pub use super::finding::Finding;
use serde_json::Value;

/// Whether anything in the rule set needs connection tracking, our own table left aside. A rule
/// that `nft` cannot show (an xtables match) counts.
pub fn tracks_connections(ruleset: &str, own_table: &str) -> bool {
    const TRACKING: [&str; 6] = ["ct", "masquerade", "snat", "dnat", "redirect", "xt"];
    parse(ruleset)
        .iter()
        .filter_map(|object| object.get("rule"))
        .filter(|rule| text(rule, "table") != own_table)
        .any(|rule| mentions_key(&rule["expr"], &TRACKING))
}

/// What in the rule set, our own table left aside, may be in the way of `config`. An unreadable
/// rule set has no findings.
pub fn inspect(ruleset: &str, config: &DivertConfig) -> Vec<Finding> {
    let objects = parse(ruleset);
    let [near, far] = &config.sides;
    let tuns = [near.tun.as_str(), far.tun.as_str()];
    let rules: Vec<&Value> = objects.iter().filter_map(|object| object.get("rule")).collect();
    let mut findings = Vec::new();
    for chain in objects.iter().filter_map(|object| object.get("chain")) {
        if text(chain, "table") == config.nft_table {
            continue;
        }
        let here: Vec<&Value> =
            rules.iter().copied().filter(|rule| in_chain(rule, chain)).collect();
        let name =
            format!("{} {} {}", text(chain, "family"), text(chain, "table"), text(chain, "name"));
        match (text(chain, "type"), text(chain, "hook")) {
            ("filter", "forward") => {
                let drops = text(chain, "policy") == "drop" || here.iter().any(|r| drops_all(r));
                // The remedy may stand in a chain that this one jumps to.
                let knows = |tun: &&str| {
                    rules.iter().any(|rule| {
                        text(rule, "table") == text(chain, "table")
                            && mentions_text(&rule["expr"], tun)
                    })
                };
                if drops && !tuns.iter().all(knows) {
                    let from = near.interfaces.join(", ");
                    findings.push(Finding::ForwardDrop {
                        chain: name,
                        rules: [
                            format!("'iifname {{ {}, {} }} accept'", tuns[0], tuns[1]),
                            format!("'iifname {{ {from} }} oifname {} accept'", tuns[0]),
                        ],
                    });
                }
            }
            ("nat", "postrouting") => {
                let anywhere = |rule: &&&Value| {
                    let expr = &rule["expr"];
                    mentions_key(expr, &["masquerade", "snat", "xt"])
                        && !names_output_interface(expr)
                };
                if here.iter().any(|rule| anywhere(&rule)) {
                    findings.push(Finding::SourceNat { chain: name });
                }
            }
            ("filter", "prerouting") => {
                let knows = |tun: &&str| here.iter().any(|rule| mentions_text(&rule["expr"], tun));
                let strict = here.iter().any(|rule| is_reverse_path_filter(&rule["expr"]));
                if strict && !tuns.iter().all(knows) {
                    findings.push(Finding::ReversePath {
                        chain: name,
                        rule: format!("'iifname {{ {}, {} }} accept'", tuns[0], tuns[1]),
                    });
                }
            }
            _ => {}
        }
    }
    for table in objects.iter().filter_map(|object| object.get("flowtable")) {
        let interfaces = near.interfaces.iter().chain(&far.interfaces);
        if interfaces.into_iter().any(|name| mentions_text(&table["dev"], name)) {
            findings.push(Finding::FlowTable {
                table: format!(
                    "{} {} {}",
                    text(table, "family"),
                    text(table, "table"),
                    text(table, "name")
                ),
            });
        }
    }
    findings
}

fn parse(ruleset: &str) -> Vec<Value> {
    let mut value: Value = serde_json::from_str(ruleset).unwrap_or_default();
    match value.get_mut("nftables").map(Value::take) {
        Some(Value::Array(objects)) => objects,
        _ => Vec::new(),
    }
}

fn text<'a>(object: &'a Value, key: &str) -> &'a str {
    object.get(key).and_then(Value::as_str).unwrap_or("")
}

fn in_chain(rule: &Value, chain: &Value) -> bool {
    text(rule, "family") == text(chain, "family")
        && text(rule, "table") == text(chain, "table")
        && text(rule, "chain") == text(chain, "name")
}

/// A rule without conditions that ends in drop or reject.
fn drops_all(rule: &Value) -> bool {
    let Some(statements) = rule["expr"].as_array() else { return false };
    let has = |key: &str| statements.iter().any(|statement| statement.get(key).is_some());
    (has("drop") || has("reject")) && !has("match") && !has("xt") && !has("limit")
}

fn names_output_interface(expr: &Value) -> bool {
    expr.as_array().into_iter().flatten().filter_map(|statement| statement.get("match")).any(
        |matching| {
            text(matching, "op") == "=="
                && matches!(matching["left"]["meta"]["key"].as_str(), Some("oifname" | "oif"))
        },
    )
}

/// `fib saddr . iif oif …`: whether the source routes back to where the packet came in.
fn is_reverse_path_filter(expr: &Value) -> bool {
    expr.as_array().into_iter().flatten().any(|statement| {
        let flags = &statement["match"]["left"]["fib"]["flags"];
        mentions_text(flags, "saddr") && mentions_text(flags, "iif")
    })
}

/// Whether any of `keys` is the key of an object somewhere inside.
fn mentions_key(value: &Value, keys: &[&str]) -> bool {
    match value {
        Value::Object(map) => {
            map.iter().any(|(key, inner)| keys.contains(&key.as_str()) || mentions_key(inner, keys))
        }
        Value::Array(list) => list.iter().any(|inner| mentions_key(inner, keys)),
        _ => false,
    }
}

/// Whether `wanted` is a text somewhere inside.
fn mentions_text(value: &Value, wanted: &str) -> bool {
    match value {
        Value::String(text) => text == wanted,
        Value::Object(map) => map.values().any(|inner| mentions_text(inner, wanted)),
        Value::Array(list) => list.iter().any(|inner| mentions_text(inner, wanted)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DivertConfig, Side};
    use super::*;
    use serde_json::json;

    fn config() -> DivertConfig {
        let side = |interface: &str, tun: &str| Side {
            interfaces: vec![interface.into()],
            tun: tun.into(),
        };
        DivertConfig::gateway([side("lan0", "bp-near"), side("sat0", "bp-far")])
    }

    fn chain(kind: &str, hook: &str, policy: &str) -> Value {
        json!({ "chain": {
            "family": "inet", "table": "fw", "name": "c",
            "type": kind, "hook": hook, "prio": 0, "policy": policy
        }})
    }

    fn rule(expr: &Value) -> Value {
        json!({ "rule": { "family": "inet", "table": "fw", "chain": "c", "expr": expr } })
    }

    fn meta(key: &str, op: &str, name: &str) -> Value {
        json!({ "match": { "op": op, "left": { "meta": { "key": key } }, "right": name } })
    }

    fn findings(objects: &[Value]) -> Vec<Finding> {
        inspect(&json!({ "nftables": objects }).to_string(), &config())
    }

    #[test]
    fn a_forward_chain_that_drops_is_found_with_its_remedy() {
        let drop = chain("filter", "forward", "drop");
        let found = findings(std::slice::from_ref(&drop));
        let message = found[0].to_string();
        assert!(
            message.contains("nft insert rule inet fw c 'iifname { bp-near, bp-far } accept'"),
            "{message}"
        );
        // A last rule that rejects everything is as good as a policy.
        let accept = chain("filter", "forward", "accept");
        let reject = rule(&json!([{ "counter": null }, { "reject": null }]));
        assert_eq!(findings(&[accept.clone(), reject]).len(), 1);
        let some = rule(&json!([meta("iifname", "==", "eth9"), { "drop": null }]));
        assert_eq!(findings(&[accept, some]), []);
        // With the remedy in place there is nothing to say.
        let right = json!({ "set": ["bp-near", "bp-far"] });
        let remedy = rule(&json!([
            { "match": { "op": "==", "left": { "meta": { "key": "iifname" } }, "right": right } },
            { "accept": null }
        ]));
        assert_eq!(findings(&[drop, remedy]), []);
    }

    #[test]
    fn source_nat_is_found_unless_it_names_its_interface() {
        let nat = chain("nat", "postrouting", "accept");
        let masquerade = json!({ "masquerade": null });
        let plain = rule(&json!([masquerade]));
        assert!(matches!(findings(&[nat.clone(), plain])[..], [Finding::SourceNat { .. }]));
        let negated = rule(&json!([meta("oifname", "!=", "docker0"), masquerade]));
        assert_eq!(findings(&[nat.clone(), negated]).len(), 1);
        let named = rule(&json!([meta("oifname", "==", "sat0"), masquerade]));
        assert_eq!(findings(&[nat, named]), []);
    }

    #[test]
    fn a_reverse_path_filter_is_found() {
        let fib = json!({ "fib": { "result": "oif", "flags": ["saddr", "mark", "iif"] } });
        let filter = rule(&json!([
            { "match": { "op": "==", "left": fib, "right": false } },
            { "drop": null }
        ]));
        let found = findings(&[chain("filter", "prerouting", "accept"), filter]);
        assert!(matches!(found[..], [Finding::ReversePath { .. }]));
    }

    #[test]
    fn connection_tracking_is_seen_but_not_our_own() {
        let own = json!({ "rule": {
            "family": "inet", "table": "bentpipe-gateway", "chain": "legs",
            "expr": [{ "mangle": { "key": { "ct": { "key": "zone" } }, "value": 25_200 } }]
        }});
        let state = json!({ "match": {
            "op": "in", "left": { "ct": { "key": "state" } }, "right": "established"
        }});
        let tracks = |objects: &[Value]| {
            tracks_connections(&json!({ "nftables": objects }).to_string(), "bentpipe-gateway")
        };
        assert!(!tracks(std::slice::from_ref(&own)));
        assert!(tracks(&[own, rule(&json!([state, { "accept": null }]))]));
    }

    #[test]
    fn what_is_no_rule_set_has_no_findings() {
        for text in ["", "nonsense", "[]", "{}", r#"{"nftables": [1, {"chain": 2}]}"#] {
            assert_eq!(inspect(text, &config()), []);
            assert!(!tracks_connections(text, "x"));
        }
    }
}
