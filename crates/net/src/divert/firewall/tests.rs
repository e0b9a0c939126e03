//! Firewalls of the kinds that routers have, as `nft -j list ruleset` and `iptables-save` show them.

use super::super::{DivertConfig, Side};
use super::blame::{Dropped, Sides, dropped, marks, translated};
use super::{Firewall, Network, Program, parse_nft, read_iptables, read_nft};
use serde_json::{Value, json};

fn config() -> DivertConfig {
    let side =
        |interface: &str, tun: &str| Side { interfaces: vec![interface.into()], tun: tun.into() };
    DivertConfig::tcp([side("lan", "bp-lan"), side("sat", "bp-sat")])
}

/// Of an `inet` table `fw`.
fn chain(name: &str, hook: &str, policy: &str) -> Value {
    let kind = if hook == "postrouting" { "nat" } else { "filter" };
    json!({ "chain": { "family": "inet", "table": "fw", "name": name, "type": kind,
        "hook": hook, "prio": 0, "policy": policy } })
}

fn plain_chain(name: &str) -> Value {
    json!({ "chain": { "family": "inet", "table": "fw", "name": name } })
}

fn rule(chain: &str, expr: &[Value]) -> Value {
    json!({ "rule": { "family": "inet", "table": "fw", "chain": chain, "expr": expr } })
}

fn is(key: &str, op: &str, right: impl Into<Value>) -> Value {
    let right: Value = right.into();
    json!({ "match": { "op": op, "left": { "meta": { "key": key } }, "right": right } })
}

fn port(port: u16) -> Value {
    json!({ "match": { "op": "==", "left": { "payload": { "protocol": "tcp", "field": "dport" } },
        "right": port } })
}

fn established() -> Value {
    json!({ "match": { "op": "in", "left": { "ct": { "key": "state" } },
        "right": ["established", "related"] } })
}

fn accept() -> Value {
    json!({ "accept": null })
}

fn drop() -> Value {
    json!({ "drop": null })
}

fn firewall(objects: &[Value]) -> Firewall {
    read_nft(&parse_nft(&json!({ "nftables": objects }).to_string()), "bentpipe-gateway")
}

fn found(objects: &[Value]) -> Vec<Dropped> {
    dropped(&firewall(objects), &config(), &Sides::default())
}

/// Policy drop; what is established passes, and what comes from one interface for another.
fn default_drop(from: &str, to: &str) -> Vec<Value> {
    vec![
        chain("f", "forward", "drop"),
        rule("f", &[established(), accept()]),
        rule("f", &[is("iifname", "==", from), is("oifname", "==", to), accept()]),
    ]
}

const OUT: &str = r#"nft insert rule inet fw f 'iifname { "bp-lan", "bp-sat" } accept'"#;

#[test]
fn a_remedy_is_complete_at_either_end() {
    let near = found(&default_drop("lan", "sat"));
    let into = r#"nft insert rule inet fw f 'iifname "lan" oifname "bp-lan" accept'"#;
    assert!(matches!(&near[..], [it] if it.remedy == [OUT, into] && !it.is_broad), "{near:?}");
    let far = found(&default_drop("sat", "lan"));
    let into = r#"nft insert rule inet fw f 'iifname "sat" oifname "bp-sat" accept'"#;
    assert!(matches!(&far[..], [it] if it.remedy == [OUT, into]), "{far:?}");
}

#[test]
fn what_the_firewall_drops_without_us_is_its_own_will() {
    assert_eq!(found(&[chain("f", "forward", "drop")]), []);
    assert_eq!(found(&default_drop("lan", "dmz")), []);
    assert_eq!(found(&[chain("f", "forward", "accept")]), []);
    // Answers pass, and there is nothing that they could answer.
    let (sat, lan) = (is("iifname", "==", "sat"), is("oifname", "==", "lan"));
    let answers = rule("f", &[sat, lan, established(), accept()]);
    assert_eq!(found(&[chain("f", "forward", "drop"), answers]), []);
}

#[test]
fn a_remedy_opens_no_port_that_was_closed() {
    let mut objects = default_drop("sat", "lan");
    objects.pop();
    let (sat, lan) = (is("iifname", "==", "sat"), is("oifname", "==", "lan"));
    objects.push(rule("f", &[sat, lan, port(443), accept()]));
    let found = found(&objects);
    let into = r#"nft insert rule inet fw f 'iifname "sat" oifname "bp-sat" tcp dport 443 accept'"#;
    assert!(matches!(&found[..], [it] if it.remedy == [OUT, into] && !it.is_broad), "{found:?}");
}

#[test]
fn established_connections_by_interface_need_a_rule_too() {
    let objects = [
        chain("f", "forward", "drop"),
        rule("f", &[is("iifname", "==", "lan"), is("oifname", "==", "sat"), accept()]),
        rule(
            "f",
            &[is("iifname", "==", "sat"), is("oifname", "==", "lan"), established(), accept()],
        ),
    ];
    let found = found(&objects);
    let [it] = &found[..] else { panic!("{found:?}") };
    let back = r#"nft insert rule inet fw f 'iifname "sat" oifname "bp-sat" ct state established,related accept'"#;
    assert!(it.remedy.iter().any(|command| command == back), "{it:?}");
}

#[test]
fn conditional_drops_are_found() {
    let policy = || chain("f", "forward", "accept");
    let not = |key, names: &[&str]| is(key, "!=", json!({ "set": names }));
    for expr in [
        vec![is("iifname", "==", "lan"), is("oifname", "!=", "sat"), drop()],
        vec![not("oifname", &["lan", "sat", "dmz"]), json!({ "reject": null })],
        vec![not("iifname", &["lan", "sat"]), drop()],
    ] {
        assert_eq!(found(&[policy(), rule("f", &expr)]).len(), 1, "{expr:?}");
    }
    // By a mark that what we write does not get.
    let set_mark = json!({ "mangle": { "key": { "meta": { "key": "mark" } }, "value": 1 } });
    let unmarked = json!({ "match": { "op": "==",
        "left": { "&": [{ "meta": { "key": "mark" } }, 3] }, "right": 0 } });
    let objects = [
        chain("p", "prerouting", "accept"),
        rule("p", &[is("iifname", "==", json!({ "set": ["lan", "sat"] })), set_mark]),
        policy(),
        rule("f", &[unmarked, drop()]),
    ];
    assert_eq!(found(&objects).len(), 1);
    assert_eq!(marks(&firewall(&objects), &config(), &Sides::default()), [[1, 0]]);
    let other = [policy(), rule("f", &[is("iifname", "==", "eth9"), drop()])];
    assert_eq!(found(&other), []);
}

#[test]
fn devices_that_a_firewall_knows_by_whatever_name_are_no_finding() {
    let with = |expr: &[Value], more: &[Value]| {
        let mut objects = default_drop("lan", "sat");
        objects.push(rule("f", expr));
        objects.push(rule("f", &[is("oifname", "==", "bp-*"), accept()]));
        objects.extend_from_slice(more);
        found(&objects)
    };
    assert_eq!(with(&[is("iifname", "==", "bp-*"), accept()], &[]), []);
    let set = json!({ "set": { "family": "inet", "table": "fw", "name": "inside", "type": "ifname",
        "elem": ["bp-*", { "elem": { "val": "lan", "expires": 3 } }] } });
    assert_eq!(with(&[is("iifname", "==", "@inside"), accept()], &[set]), []);
    let map = json!({ "vmap": { "key": { "meta": { "key": "iifname" } },
        "data": { "set": [["bp-lan", { "accept": null }], ["bp-sat", { "accept": null }]] } } });
    assert_eq!(with(&[map], &[]), []);
    let pair = json!({ "match": { "op": "==", "left": { "concat": [
        { "meta": { "key": "iifname" } }, { "meta": { "key": "oifname" } }] },
        "right": { "set": [{ "concat": ["bp-lan", "sat"] }] } } });
    assert_eq!(with(&[pair, accept()], &[]), []);
    // Whom the operator lets through our devices is his will.
    let network = json!({ "match": { "op": "==",
        "left": { "payload": { "protocol": "ip", "field": "saddr" } },
        "right": { "prefix": { "addr": "10.0.0.0", "len": 8 } } } });
    assert_eq!(with(&[is("iifname", "==", "bp-lan"), network, accept()], &[]), []);
}

#[test]
fn what_passes_by_its_port_alone_does_not_hide_what_does_not() {
    // As in firewalld and fw4, whose rule for what was redirected stands in front.
    let redirected = json!({ "match": { "op": "in", "left": { "ct": { "key": "status" } },
        "right": "dnat" } });
    let objects = [
        chain("f", "forward", "drop"),
        rule("f", &[established(), accept()]),
        rule("f", &[redirected, accept()]),
        rule("f", &[port(80), accept()]),
        rule("f", &[is("iifname", "==", "lan"), json!({ "jump": { "target": "from_lan" } })]),
        rule("f", &[json!({ "jump": { "target": "refuse" } })]),
        plain_chain("from_lan"),
        rule("from_lan", &[is("oifname", "==", "sat"), accept()]),
        plain_chain("refuse"),
        rule("refuse", &[json!({ "reject": null })]),
    ];
    let found = found(&objects);
    assert!(matches!(&found[..], [it] if it.legs.len() == 2), "{found:?}");
}

#[test]
fn a_rate_or_an_unreadable_match_is_no_drop() {
    let limit = json!({ "limit": { "rate": 5, "per": "second", "inv": true } });
    let xt = json!({ "xt": { "type": "match", "name": "recent" } });
    for condition in [limit, xt] {
        let objects = [
            chain("f", "forward", "accept"),
            rule("f", &[is("oifname", "!=", "sat"), condition, drop()]),
        ];
        assert_eq!(found(&objects), []);
    }
}

#[test]
fn a_filter_of_reverse_paths_is_found_and_its_remedy_is_enough() {
    let fib = json!({ "fib": { "result": "oif", "flags": ["saddr", "mark", "iif"] } });
    let strict = json!({ "match": { "op": "==", "left": fib, "right": false } });
    let base = || chain("p", "prerouting", "accept");
    let found_it = found(&[base(), rule("p", &[strict.clone(), drop()])]);
    let remedy = OUT.replace(" f '", " p '");
    assert!(matches!(&found_it[..], [it] if it.remedy == [remedy.as_str()]), "{found_it:?}");
    let known = rule("p", &[is("iifname", "==", "bp-*"), accept()]);
    assert_eq!(found(&[base(), known, rule("p", &[strict, drop()])]), []);
}

#[test]
fn source_nat_is_found_where_it_may_catch_what_comes_to_us() {
    let sides = |network: &str| Sides {
        networks: [Some(vec![Network::parse(network).unwrap()]), None],
        ..Sides::default()
    };
    let of =
        |objects: &[Value], network| translated(&firewall(objects), &config(), &sides(network));
    let base = || chain("n", "postrouting", "accept");
    let masquerade = || json!({ "masquerade": null });
    let plain = [base(), rule("n", &[masquerade()])];
    assert_eq!(of(&plain, "10.1.0.0/16").len(), 1);
    let named = [base(), rule("n", &[is("oifname", "==", "sat"), masquerade()])];
    assert_eq!(of(&named, "10.1.0.0/16"), []);
    // Docker's own, for containers: not for a LAN that has none.
    let saved = "*nat\n:POSTROUTING ACCEPT [0:0]\n\
                 -A POSTROUTING -s 172.17.0.0/16 ! -o docker0 -j MASQUERADE\nCOMMIT\n";
    let docker = read_iptables(saved, "ip", Program::Iptables("iptables-legacy"));
    let from_lan = |network: &str| {
        let mut sides = sides(network);
        sides.networks[1] = Some(vec![Network::parse("10.9.0.0/16").unwrap()]);
        translated(&docker, &config(), &sides)
    };
    assert_eq!(from_lan("10.1.0.0/16"), []);
    let found = from_lan("172.17.0.0/16");
    let remedy = ["bp-lan", "bp-sat"]
        .map(|tun| format!("iptables-legacy -t nat -I POSTROUTING -o {tun} -j ACCEPT"));
    assert!(matches!(&found[..], [(_, it)] if *it == remedy), "{found:?}");
    let mended = saved.replace(
        "-A POSTROUTING -s",
        "-A POSTROUTING -o bp-lan -j ACCEPT\n-A POSTROUTING -o bp-sat -j ACCEPT\n-A POSTROUTING -s",
    );
    let mended = read_iptables(&mended, "ip", Program::Iptables("iptables-legacy"));
    assert_eq!(translated(&mended, &config(), &Sides::default()), []);
}

/// As iptables-save 1.8.9 writes it.
const SAVED: &str = "\
*filter
:INPUT ACCEPT [0:0]
:FORWARD DROP [0:0]
:OUTPUT ACCEPT [0:0]
:USERS - [0:0]
-A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
-A FORWARD -m comment --comment \"what \\\"we\\\" -j like\" -j USERS
-A FORWARD -m limit --limit 5/sec -j LOG --log-prefix \"lost \"
-A USERS -i lan+ -o sat -p tcp -m tcp --dport 443 -j ACCEPT
COMMIT
";

#[test]
fn iptables_is_read_and_has_a_rule_for_each_device() {
    let of = |saved: &str| {
        let firewall = read_iptables(saved, "ip", Program::Iptables("iptables-legacy"));
        dropped(&firewall, &config(), &Sides::default())
    };
    let found = of(SAVED);
    let [it] = &found[..] else { panic!("{found:?}") };
    let remedy = [
        "iptables-legacy -I FORWARD -i bp-lan -j ACCEPT",
        "iptables-legacy -I FORWARD -i bp-sat -j ACCEPT",
        "iptables-legacy -I FORWARD -i lan -o bp-lan -p tcp --dport 443 -j ACCEPT",
    ];
    assert_eq!(it.remedy, remedy);
    let rules = "-A FORWARD -i bp+ -j ACCEPT\n-A FORWARD -i lan -o bp-lan -p tcp -m tcp --dport 443 \
                 -j ACCEPT\n-A FORWARD -m conntrack";
    assert_eq!(of(&SAVED.replace("-A FORWARD -m conntrack", rules)), []);
    assert_eq!(of("*filter\n:FORWARD ACCEPT [0:0]\nCOMMIT\n"), []);
}

#[test]
fn chains_that_jump_in_circles_and_nonsense_come_to_an_end() {
    let objects = [
        chain("f", "forward", "drop"),
        rule("f", &[json!({ "jump": { "target": "a" } })]),
        plain_chain("a"),
        rule("a", &[json!({ "jump": { "target": "a" } })]),
        rule("a", &[json!({ "jump": { "target": "a" } })]),
    ];
    assert_eq!(found(&objects), []);
    for text in ["", "nonsense", "[]", "{}", r#"{"nftables": [1, {"chain": 2}, {"rule": []}]}"#] {
        let firewall = read_nft(&parse_nft(text), "x");
        assert_eq!(dropped(&firewall, &config(), &Sides::default()), []);
    }
    for saved in ["", "-A", "-A FORWARD -j", "*filter\n:FORWARD\n-A FORWARD ! -i -m \"", ":", "*"] {
        let firewall = read_iptables(saved, "ip", Program::Iptables("iptables-legacy"));
        dropped(&firewall, &config(), &Sides::default());
    }
}

#[test]
fn networks_meet_where_one_is_in_the_other() {
    let of = |text| Network::parse(text).unwrap();
    for (a, b, meet) in [
        ("172.17.0.0/16", "172.17.3.0/24", true),
        ("172.17.0.0/16", "10.0.0.0/8", false),
        ("0.0.0.0/0", "10.0.0.1", true),
        ("10.0.0.1", "10.0.0.2", false),
        ("::/0", "10.0.0.1", false),
        ("fd00::/8", "fd83:1::/64", true),
    ] {
        assert_eq!(of(a).meets(&of(b)), meet, "{a} {b}");
        assert_eq!(of(b).meets(&of(a)), meet, "{b} {a}");
    }
    assert_eq!(Network::parse("10.0.0.0/99").unwrap().length, 32);
    assert_eq!(Network::parse("nonsense"), None);
}
