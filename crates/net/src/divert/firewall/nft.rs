//! Reads `nft -j list ruleset` (libnftables-json(5)).
//!
//! `nft` writes an interface's name that ends in `*` for all names that begin so.

use super::expression::{
    in_words, mark_of, masked_mark, mentions_key, networks, number, text, value,
};
use super::{
    Base, Chain, ChainName, Condition, Firewall, Hook, MarkOf, Network, Pattern, Program, Property,
    Rule, State, Step, Test, Value, Verdict,
};
use serde_json::Value as Json;
use std::collections::BTreeSet;

/// Sets of several fields with no more elements than this are read element by element.
const MAX_ROWS: usize = 64;

/// The objects of a rule set; none if it is not readable.
pub(in super::super) fn parse(ruleset: &str) -> Vec<Json> {
    let mut value: Json = serde_json::from_str(ruleset).unwrap_or_default();
    match value.get_mut("nftables").map(Json::take) {
        Some(Json::Array(objects)) => objects,
        _ => Vec::new(),
    }
}

/// Its chains of IP, but for `own_table`.
pub(in super::super) fn read(objects: &[Json], own_table: &str) -> Firewall {
    let of_iptables = tables_of_iptables(objects);
    let mut firewall = Firewall::default();
    for object in objects.iter().filter_map(|object| object.get("chain")) {
        if let Some(name) = chain_name(object, "name", &of_iptables, own_table) {
            let chain = Chain { base: base(object), rules: Vec::new() };
            firewall.chains.insert(name, chain);
        }
    }
    for object in objects.iter().filter_map(|object| object.get("rule")) {
        let Some(name) = chain_name(object, "chain", &of_iptables, own_table) else { continue };
        let reader = Reader { objects, name: &name };
        let rule = reader.rule(&object["expr"]);
        if let Some(chain) = firewall.chains.get_mut(&name) {
            chain.rules.push(rule);
        }
    }
    firewall
}

/// Families and tables that somebody's `iptables-nft` has made: they have rules that `nft` cannot
/// show, or a chain by one of its names.
pub(in super::super) fn tables_of_iptables(objects: &[Json]) -> BTreeSet<(&str, &str)> {
    let is_foreign = |object: &Json| {
        if let Some(rule) = object.get("rule") {
            return mentions_key(&rule["expr"], &["xt"]);
        }
        let Some(chain) = object.get("chain") else { return false };
        let name = text(chain, "name");
        !name.is_empty() && name == text(chain, "hook").to_uppercase()
    };
    let foreign = objects.iter().filter(|object| is_foreign(object));
    let inner = foreign.filter_map(|object| object.get("rule").or(object.get("chain")));
    inner
        .map(|inner| (text(inner, "family"), text(inner, "table")))
        .filter(|(family, _)| *family != "inet")
        .collect()
}

fn chain_name(
    object: &Json,
    key: &str,
    of_iptables: &BTreeSet<(&str, &str)>,
    own_table: &str,
) -> Option<ChainName> {
    let (family, table) = (text(object, "family"), text(object, "table"));
    let ip = ["ip", "ip6", "inet"].contains(&family);
    (ip && !(family == "inet" && table == own_table)).then(|| ChainName {
        program: match family {
            _ if !of_iptables.contains(&(family, table)) => Program::Nft,
            "ip" => Program::Iptables("iptables-nft"),
            _ => Program::Iptables("ip6tables-nft"),
        },
        family: family.into(),
        table: table.into(),
        chain: text(object, key).into(),
    })
}

fn base(chain: &Json) -> Option<Base> {
    let hook = match text(chain, "hook") {
        "prerouting" => Hook::Prerouting,
        "forward" => Hook::Forward,
        "postrouting" => Hook::Postrouting,
        _ => return None,
    };
    let nat = text(chain, "type") == "nat";
    let priority = chain["prio"].as_i64().unwrap_or(0);
    Some(Base { hook, nat, priority, accepts: text(chain, "policy") != "drop" })
}

/// Reads the rules of one chain.
struct Reader<'a> {
    objects: &'a [Json],
    name: &'a ChainName,
}

impl Reader<'_> {
    fn rule(&self, expr: &Json) -> Rule {
        expr.as_array().into_iter().flatten().flat_map(|statement| self.step(statement)).collect()
    }

    fn step(&self, statement: &Json) -> Option<Step> {
        let (key, inner) = statement.as_object()?.iter().next()?;
        Some(match key.as_str() {
            "match" => Step::When(self.condition(inner)),
            "vmap" => Step::Map(self.map(inner)),
            "mangle" => {
                let value = value(&inner["value"]);
                match mark_of(&inner["key"])? {
                    MarkOf::Packet => Step::SetMark(value),
                    MarkOf::Connection => Step::SaveMark(value),
                }
            }
            "masquerade" | "snat" => Step::Translate,
            "limit" | "quota" | "ct count" => Step::When(Condition::one(Test::Unknowable, false)),
            "xt" => xt(inner),
            // A program decides.
            "queue" => Step::Decide(Verdict::Accept),
            _ => Step::Decide(verdict(statement)?),
        })
    }

    fn condition(&self, matching: &Json) -> Condition {
        let (left, right) = (&matching["left"], &matching["right"]);
        let negated = text(matching, "op") == "!=";
        if !["==", "!=", "in"].contains(&text(matching, "op")) {
            return Condition::one(property(matching.to_string(), false, None), false);
        }
        // Bits of one field, of which one is enough, but for addresses and the like.
        let any = match right {
            Json::Array(states) if left["ct"]["key"] == "state" => {
                states.iter().map(|state| self.tests(left, state)).collect()
            }
            right => self.rows(left, right),
        };
        Condition { any, negated }
    }

    /// A row for each element of a set whose elements we understand; else one row.
    fn rows(&self, left: &Json, right: &Json) -> Vec<Vec<Test>> {
        let elements = match right {
            Json::String(name) if name.starts_with('@') => self.named(name),
            right => right["set"].as_array(),
        };
        match elements {
            Some(elements)
                if is_understood(left)
                    || !left["concat"].is_null() && elements.len() <= MAX_ROWS =>
            {
                elements.iter().map(|element| self.tests(left, plain(element))).collect()
            }
            Some(elements) => vec![vec![unlike(left, right, elements)]],
            None => vec![self.tests(left, right)],
        }
    }

    /// The elements of a named set or map.
    fn named(&self, name: &str) -> Option<&Vec<Json>> {
        let name = name.strip_prefix('@')?;
        let mut sets =
            self.objects.iter().filter_map(|object| object.get("set").or(object.get("map")));
        let set = sets.find(|set| {
            text(set, "family") == self.name.family
                && text(set, "table") == self.name.table
                && text(set, "name") == name
        })?;
        // A set without elements has no such key.
        static NONE: Vec<Json> = Vec::new();
        Some(set["elem"].as_array().unwrap_or(&NONE))
    }

    fn map(&self, map: &Json) -> Vec<(Vec<Condition>, Verdict)> {
        let elements = match &map["data"] {
            Json::String(name) => self.named(name),
            data => data["set"].as_array(),
        };
        let key = &map["key"];
        let pairs = elements.into_iter().flatten().filter_map(Json::as_array);
        pairs
            .filter_map(|pair| {
                let [wanted, then] = pair.as_slice() else { return None };
                let condition =
                    Condition { any: vec![self.tests(key, plain(wanted))], negated: false };
                Some((vec![condition], verdict(then)?))
            })
            .collect()
    }

    /// What `left` being `right` asks; every test must hold.
    fn tests(&self, left: &Json, right: &Json) -> Vec<Test> {
        if let (Some(left), Some(right)) = (left["concat"].as_array(), right["concat"].as_array()) {
            let pairs = left.iter().zip(right);
            return pairs.flat_map(|(left, right)| self.tests(left, right)).collect();
        }
        vec![test(left, right)]
    }
}

/// An element of a set without its time-out and counter.
fn plain(element: &Json) -> &Json {
    if element["elem"]["val"].is_null() { element } else { &element["elem"]["val"] }
}

/// Whether all that is compared are fields that we know of each packet.
fn is_understood(left: &Json) -> bool {
    match left["concat"].as_array() {
        Some(fields) => fields.iter().all(is_understood),
        None => {
            let meta = left["meta"]["key"].as_str().unwrap_or("");
            ["iifname", "oifname", "iif", "oif", "l4proto", "nfproto", "protocol", "mark"]
                .contains(&meta)
                || mark_of(left).is_some()
                || left["ct"]["key"] == "state"
                || masked_mark(left).is_some()
        }
    }
}

fn test(left: &Json, right: &Json) -> Test {
    let word = right.as_str().unwrap_or("");
    let (meta, ct) = (left["meta"]["key"].as_str(), left["ct"]["key"].as_str());
    match (meta, ct) {
        (Some("iifname" | "iif"), _) => return Test::In(Pattern::of(word, '*')),
        (Some("oifname" | "oif"), _) => return Test::Out(Pattern::of(word, '*')),
        (Some("iifgroup"), _) => return Test::In(Pattern::Group(number_or_word(right))),
        (Some("oifgroup"), _) => return Test::Out(Pattern::Group(number_or_word(right))),
        (Some("l4proto"), _) => return Test::Constant(word == "tcp" || right == 6),
        (Some("nfproto"), _) => return Test::Ipv6(word == "ipv6"),
        (Some("protocol"), _) => return Test::Ipv6(word == "ip6"),
        (Some("time" | "day" | "hour" | "random" | "cpu"), _) => return Test::Unknowable,
        (_, Some("state")) => {
            return match word {
                "new" => Test::State(State::New),
                "established" => Test::State(State::Established),
                _ => Test::State(State::Other),
            };
        }
        (_, Some("direction")) => return Test::Reply(word == "reply"),
        _ => {}
    }
    if let Some((of, mask)) = masked_mark(left) {
        let range = right["range"].as_array().map(Vec::as_slice);
        let (from, to) = match range {
            Some([from, to]) => (number(from), number(to)),
            _ => (number(right), number(right)),
        };
        if let (Some(from), Some(to)) = (from, to) {
            return Test::Mark { of, mask, from, to };
        }
    }
    // `fib saddr . iif oif missing`.
    let flags = left["fib"]["flags"].as_array();
    let has = |flag: &str| flags.is_some_and(|flags| flags.iter().any(|it| it == flag));
    if has("saddr") && has("iif") && (right == false || word == "0") {
        return Test::NoWayBack;
    }
    match (text(&left["payload"], "protocol"), text(&left["payload"], "field")) {
        ("ip", "protocol") | ("ip6", "nexthdr") => Test::Constant(word == "tcp" || right == 6),
        ("icmp" | "icmpv6" | "udp" | "udplite" | "sctp" | "dccp" | "igmp", _) => {
            Test::Constant(false)
        }
        ("tcp", "flags") => Test::Constant(right_has_syn(right)),
        _ if left["&"][0]["payload"]["field"] == "flags" => Test::Constant(right_has_syn(right)),
        _ => {
            let sources = (text(&left["payload"], "field") == "saddr").then(|| networks(right));
            let words = in_words(left).zip(in_words(right));
            let quotable = words.is_some();
            let words = words.map(|(left, right)| format!("{left} {right}"));
            property(words.unwrap_or_else(|| format!("{left} {right}")), quotable, sources)
        }
    }
}

/// A first segment is a SYN; its answer and what follows have other flags, which no ordinary
/// firewall looks at.
fn right_has_syn(right: &Json) -> bool {
    right == "syn" || right.as_array().is_some_and(|flags| flags.iter().any(|it| it == "syn"))
}

/// A set whose elements differ from packet to packet.
fn unlike(left: &Json, right: &Json, elements: &[Json]) -> Test {
    let is_source = left["payload"]["field"] == "saddr";
    let sources = is_source.then(|| elements.iter().flat_map(|it| networks(plain(it))).collect());
    match in_words(left).zip(in_words(right)) {
        Some((left, right)) => property(format!("{left} {right}"), true, sources),
        None => property(format!("{left} {right}"), false, sources),
    }
}

fn property(text: String, quotable: bool, sources: Option<Vec<Network>>) -> Test {
    Test::Packet(Property { text, quotable, sources })
}

/// A verdict as a statement or as a map's value.
fn verdict(statement: &Json) -> Option<Verdict> {
    let (key, inner) = statement.as_object()?.iter().next()?;
    let target = || text(inner, "target").to_owned();
    Some(match key.as_str() {
        "accept" => Verdict::Accept,
        "drop" | "reject" => Verdict::Drop,
        "return" => Verdict::Return,
        "jump" => Verdict::Jump(target()),
        "goto" => Verdict::Goto(target()),
        _ => return None,
    })
}

/// A match or target of x_tables, of which `nft` shows the name at best.
fn xt(inner: &Json) -> Step {
    match (text(inner, "type"), text(inner, "name")) {
        ("target", "REJECT") => Step::Decide(Verdict::Drop),
        ("target", "MASQUERADE" | "SNAT") => Step::Translate,
        ("target", "MARK" | "CONNMARK") => Step::SetMark(Value::Unknown),
        ("match", _) => Step::When(Condition::one(Test::Unknowable, false)),
        // Others decide nothing.
        _ => Step::When(Condition::one(Test::Constant(true), false)),
    }
}

fn number_or_word(value: &Json) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
